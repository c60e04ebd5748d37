package translate_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// bomb is a folder of n routes that all hand requests to each other: more paths
// than could ever be followed.
func bomb(n int) map[string]string {
	files := map[string]string{
		"gateway.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg, namespace: bomb}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
`,
		"root.yaml": bombRoute("root", "  parentRefs: [{name: eg}]\n  hostnames: [bomb.example.com]\n"),
		"sound.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: sound, namespace: sound}
spec:
  parentRefs: [{name: eg, namespace: bomb}]
  hostnames: [sound.example.com]
  rules:
  - matches: [{path: {value: /a}}]
    backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: leaf}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: leaf, namespace: sound}
spec:
  rules:
  - matches: [{path: {value: /a/b}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.example.com}}]
`,
	}
	files["gateway.yaml"] = strings.Replace(files["gateway.yaml"], "protocol: HTTP", "protocol: HTTP, allowedRoutes: {namespaces: {from: All}}", 1)
	for i := range n {
		name := fmt.Sprintf("r%03d", i)
		files[name+".yaml"] = bombRoute(name, "")
	}
	return files
}

func bombRoute(name, head string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: bomb}
spec:
%s  rules:
  - backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*"}]
`, name, head)
}

// TestDelegationBombs: routes that multiply are stopped at their own rules, with
// a problem, in bounded memory; every other route goes on, and what serves does
// not depend on the order of edits (design section 5).
func TestDelegationBombs(t *testing.T) {
	for _, n := range []int{3, 9, 30, 200} {
		t.Run(fmt.Sprint(n, " routes"), func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			w, files := newWorld(t), bomb(n)
			problems := w.apply(tree(files))
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 200<<20 {
				t.Errorf("%d MiB are held", grown>>20)
			}
			w.checkCold(t)
			if text := problemsText(problems); n > 5 && !strings.Contains(text, "TooManyRoutes") {
				t.Errorf("no problem tells of it: %s", text)
			}
			if text := w.text(); !strings.Contains(text, "HTTPRoute/sound/sound/0/0>sound/leaf/0/0") {
				t.Error("the sound tree does not serve")
			}
			for i := range n - 2 {
				delete(files, fmt.Sprintf("r%03d.yaml", i))
			}
			if problems := w.apply(tree(files)); strings.Contains(problemsText(problems), "TooManyRoutes") {
				t.Error("what was mended is still complained of")
			}
			w.checkCold(t)
		})
	}
}

// TestABombGrows adds routes that hand requests to each other one by one: those
// that served before the budget was spent go as if they had never stood.
func TestABombGrows(t *testing.T) {
	w, stopped := newWorld(t), false
	for n := 2; n <= 8; n++ {
		problems := w.apply(tree(bomb(n)))
		w.checkCold(t)
		stopped = stopped || strings.Contains(problemsText(problems), "TooManyRoutes")
	}
	if !stopped {
		t.Error("the budget was never spent: the test shows nothing")
	}
}
