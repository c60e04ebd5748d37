package store

import (
	"fmt"
	"testing"
)

// TestAnEditLeavesNamelessPoliciesAlone edits one file beside policies without a name, few and
// many: an edit allocates as often, as it looks at none of them.
func TestAnEditLeavesNamelessPoliciesAlone(t *testing.T) {
	edit := func(policies int) float64 {
		files := map[string]string{}
		for i := range policies {
			files[fmt.Sprintf("team/%d.yaml", i)] = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: null}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]}
`
		}
		s, port := newStore(t, Options{}), 1
		return testing.AllocsPerRun(20, func() {
			port++
			files["beside.yaml"] = fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: %d}]}\n", port)
			s.Apply(treeOf(files))
		}) - testing.AllocsPerRun(20, func() { treeOf(files) })
	}
	if few, many := edit(10), edit(1000); many > few+500 {
		t.Errorf("an edit beside 10 policies without a name allocates %.0f times, beside 1,000 %.0f times", few, many)
	}
}
