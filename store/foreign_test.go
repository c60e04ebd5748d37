package store

import (
	"fmt"
	"strings"
	"testing"
)

// TestWordsForIgnoredKindsHaveNoOrder has a policy of another program in each of many files: whichever file is looked at
// first, the warning names the same target.
func TestWordsForIgnoredKindsHaveNoOrder(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: SecurityPolicy\nmetadata: {name: p%d}\n"+
			"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r%d}]}\n", i, i)
	}
	for range 10 {
		problems := newStore(t, Options{}).Apply(treeOf(files)).Problems
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "(20 in the folder): HTTPRoute default/r0 ") {
			t.Fatalf("%+v", problems)
		}
	}
}
