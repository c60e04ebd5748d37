package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/translate"
)

// TestTriedIncrementally edits routes with many regular expressions at random, about the limit of what one request may
// try, and compares with a cold rebuild.
func TestTriedIncrementally(t *testing.T) {
	over := 0
	for seed := range uint64(testsize.Of(t, 2)) {
		r := rand.New(rand.NewPCG(seed, 17))
		w := newFenced(t, translate.Options{})
		files := map[string]string{"platform/all.yaml": declared(map[string]string{"default": "80-90"}) + `---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 80, protocol: HTTP}, {name: other, port: 81, protocol: HTTP}]
`}
		for range 25 {
			name := fmt.Sprintf("%s/r%d.yaml", pick(r, "platform", "team"), r.IntN(4))
			var matches strings.Builder
			for i := range r.IntN(40) {
				fmt.Fprintf(&matches, "    - path: {type: RegularExpression, value: '%s[a-z]{%d}'}\n", pick(r, "/", "/shop/", "/shop/a"), i+1)
			}
			files[name] = fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s}
spec:
  parentRefs: [{name: eg%s}]
  hostnames: [%s]
  rules:
  - matches:
    - path: {value: /plain}
%s`, strings.NewReplacer("/", "-", ".yaml", "").Replace(name), pick(r, "", "", ", port: 80", ", port: 81"), pick(r, "a.test", "b.test", "a.test, b.test"), matches.String())
			w.apply(tree(files))
			w.checkCold(t)
			for _, p := range w.problems {
				if p.Code == "TooManyExpressions" {
					over++
				}
			}
		}
	}
	if over < 5 {
		t.Errorf("%d times over the limit: the edits prove nothing", over)
	}
}
