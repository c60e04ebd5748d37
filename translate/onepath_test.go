package translate_test

import (
	"fmt"
	"strings"
	"testing"
)

// Up to 100 rules of one path nobody is told anything; from then on the owner of the
// rule that is one too many, until one of them goes.
func TestManyRulesOfOnePath(t *testing.T) {
	w, files := newWorld(t), map[string]string{}
	name, text := document("gateway.networking.k8s.io/v1", "Gateway", "", "eg", "spec:\n  gatewayClassName: gatefold\n  listeners: [{name: http, port: 8080, protocol: HTTP}]\n")
	files[name] = text
	set := func(i int, path string) {
		name, text := document("gateway.networking.k8s.io/v1", "HTTPRoute", "", fmt.Sprintf("r%03d", i), fmt.Sprintf(`spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {%s}, headers: [{name: x-number, value: "%d"}]}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: x.com}}]
`, path, i))
		files[name] = text
	}
	warned := func() (about []string) {
		for _, p := range w.apply(tree(files)) {
			if p.Code == "ManyRulesOfOnePath" {
				about = append(about, p.Object.Name+" "+p.Field+" "+p.Message)
			}
		}
		w.checkCold(t)
		return about
	}
	for i := range 100 {
		set(i, "value: /shop")
		set(100+i, fmt.Sprintf("value: /other%d", i))
	}
	if about := warned(); len(about) > 0 {
		t.Errorf("100 rules of one path: %q", about)
	}
	set(200, `type: RegularExpression, value: "/shop[0-9]+"`)
	about := warned()
	if len(about) != 1 || !strings.Contains(about[0], ` spec.rules[0] host "*" has 101 rules whose paths begin with "/shop"`) {
		t.Errorf("101 rules of one path: %q", about)
	}
	delete(files, "httproute--r050.yaml")
	if about := warned(); len(about) > 0 {
		t.Errorf("100 rules of one path are left: %q", about)
	}
}
