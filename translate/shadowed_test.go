package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// A match that never serves is told of in a table that is compiled as in one that is a
// list, and a list of thousands of them is cut off.
func TestShadowedInALongTable(t *testing.T) {
	route := func(name, path string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: " + name + "}\n" +
			"spec: {parentRefs: [{name: eg}], hostnames: [a.example.com], rules: [{matches: [{path: {value: " + path + "}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: b.example.com}}]}]}\n"
	}
	files := map[string]string{"gateway.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg}\n" +
		"spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}\n"}
	shadowed := func(problems []manifest.Problem) (names []string) {
		for _, p := range problems {
			if p.Code == "Shadowed" {
				names = append(names, p.Object.Name)
			}
		}
		return names
	}
	w := newWorld(t)
	check := func(want string) {
		t.Helper()
		if got := fmt.Sprint(shadowed(w.apply(tree(files)))); got != want {
			t.Errorf("%d files: %s, not %s", len(files), got, want)
		}
		w.checkCold(t)
	}
	files["a.yaml"], files["b.yaml"] = route("a", "/"), route("b", "/")
	check("[b]")
	for i := range 200 {
		files[fmt.Sprintf("r%d.yaml", i)] = route(fmt.Sprintf("r%d", i), fmt.Sprintf("/p/%d", i))
	}
	check("[b]")
	files["c.yaml"] = route("c", "/p/77")
	check("[b r77]")
	files["b.yaml"] = route("b", "/b")
	check("[r77]")
	delete(files, "r77.yaml")
	check("[]")
	for i := range 150 {
		files[fmt.Sprintf("r%d.yaml", i)] = route(fmt.Sprintf("r%d", i), "/same")
	}
	if got := shadowed(w.apply(tree(files))); len(got) != 100 {
		t.Errorf("%d are told of", len(got))
	}
	w.checkCold(t)
}

// TestShadowedOfTwoNamespacesIsNotDrowned lets a team make thousands of pairs on one host,
// among its own routes and with a second namespace that it has. The one pair with an
// innocent team is reported at both places all the same.
func TestShadowedOfTwoNamespacesIsNotDrowned(t *testing.T) {
	files := map[string]string{"gateway.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg}\n" +
		"spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}\n"}
	route := func(namespace, name string, paths ...string) {
		text := "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: " + name + ", namespace: " + namespace + "}\n" +
			"spec:\n  parentRefs: [{name: eg, namespace: default}]\n  hostnames: [a.example.com]\n  rules:\n"
		for _, path := range paths {
			text += "  - {matches: [{path: {value: " + path + "}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: b.example.com}}]}\n"
		}
		files[namespace+"/"+name+".yaml"] = text
	}
	var many []string
	for i := range 16 {
		many = append(many, fmt.Sprintf("/many/%d", i))
	}
	for i := range 40 {
		route("attacker", fmt.Sprintf("r%d", i), many...)
		route("attacker-too", fmt.Sprintf("r%d", i), many...)
	}
	route("attacker", "last", "/pay")
	route("victim", "pay", "/pay")
	w, at := newWorld(t), map[string]int{}
	for _, p := range w.apply(tree(files)) {
		if p.Code == "Shadowed" || p.Code == "Contested" {
			at[p.File]++
		}
	}
	if at["attacker/last.yaml"] != 1 || at["victim/pay.yaml"] != 1 {
		t.Errorf("the pair is not reported at both places: %v", at)
	}
	if at["attacker-too/r7.yaml"] == 0 {
		t.Errorf("a route of two namespaces is not told: %v", at)
	}
	w.checkCold(t)
	files["attacker/last.yaml"] = strings.Replace(files["attacker/last.yaml"], "/pay", "/elsewhere", 1)
	for _, p := range w.apply(tree(files)) {
		if p.File == "victim/pay.yaml" {
			t.Errorf("it is told of what is gone: %s", p.Message)
		}
	}
	w.checkCold(t)
}
