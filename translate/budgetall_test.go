package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate"
)

// manyRoots are roots of one host each, whose matches all hand requests to the same child of
// 128 matches.
func manyRoots(roots, matches int) string {
	path := func(prefix string) func(i int) string {
		return func(i int) string { return fmt.Sprintf("{path: {value: /%s%d}}", prefix, i) }
	}
	inherits := "annotations: {delegation.kgateway.dev/inherit-parent-matcher: 'true'}, labels:"
	return documents(roots, func(i int) string {
		return hostileHTTP(fmt.Sprint("root", i), fmt.Sprintf("[r%d.attacker.example.com]", i),
			attackerRules(1, matches, path("p"), ", backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: '*'}]"))
	}) + documents(1, func(i int) string {
		child := hostileObject(hostileGateway, "HTTPRoute", fmt.Sprint("child", i), "{rules: "+
			attackerRules(16, 8, path("q"), ", filters: [{type: RequestRedirect, requestRedirect: {hostname: x.attacker.example.com}}]")+"}")
		return strings.Replace(child, "labels:", inherits, 1)
	})
}

// TestRootsOfManyHostsAreCountedTogether: roots times a shared child are counted over all hosts
// before any rule is made, where each host alone is within its limit. The innocent team below a root of
// its own does not notice.
func TestRootsOfManyHostsAreCountedTogether(t *testing.T) {
	const roots = 40
	w, files := newFenced(t, translate.Options{}), innocentTeam("/a")
	files["innocent/tree.yaml"] = strings.ReplaceAll(manyRoots(1, 4), "attacker", "innocent")
	files["innocent/tree.yaml"] = strings.ReplaceAll(files["innocent/tree.yaml"], "[r0.innocent.example.com]", "[innocent.example.com]")
	w.apply(tree(files))
	want := innocentOutput(w)
	files["attacker/a.yaml"] = manyRoots(roots, 64)
	stopped := 0
	for _, p := range w.apply(tree(files)) {
		if p.Code == "TooManyRoutes" && strings.HasPrefix(p.File, "attacker/") {
			stopped++
		} else if !strings.HasPrefix(p.File, "attacker/") && p.Code == "TooManyRoutes" {
			t.Errorf("a problem of %s:%d: %s", p.File, p.Line, p.Message)
		}
	}
	if stopped == 0 || stopped == roots {
		t.Errorf("%d of %d roots are stopped", stopped, roots)
	}
	if all, _ := w.copies(); all > 40_000 { // 64 × 128 on each of 40 hosts are 327,680
		t.Errorf("%d rules are made", all)
	}
	if got := innocentOutput(w); got != want {
		t.Errorf("the innocent team's output changes at %s", firstDifference(got, want))
	}
	w.checkCold(t)
}
