package lsp

import (
	"fmt"
	"strings"
	"testing"
)

// at opens a text with the cursor at "|" and returns the position and the text.
func (c *client) at(name, text string) (params map[string]any, plain string) {
	c.Helper()
	before, after, found := strings.Cut(text, "|")
	if !found {
		c.Fatal("no cursor")
	}
	plain = before + after
	c.openText(name, plain)
	in := newText([]byte(plain), utf16Units)
	return map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}, "position": in.position(len(before))}, plain
}

// complete returns the labels at the cursor, and the text after the proposal with the label take.
func (c *client) complete(name, text, take string) (labels []string, after string) {
	c.Helper()
	params, plain := c.at(name, text)
	var list completionList
	c.call("textDocument/completion", params, &list)
	for _, item := range list.Items {
		labels = append(labels, item.Label)
		if item.Label == take && after == "" {
			in := newText([]byte(plain), utf16Units)
			after = plain[:in.offset(item.TextEdit.Range.Start)] + item.TextEdit.NewText + plain[in.offset(item.TextEdit.Range.End):]
		}
	}
	return labels, after
}

const routeHead = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: x}\n"

func TestCompletion(t *testing.T) {
	files := shopFolder()
	files["other.yaml"] = strings.ReplaceAll(strings.Replace(backendText, "name: shop", "name: far, namespace: b", 1), "port: 8081", "port: 1") +
		"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n"
	c := connect(t, files, nil)
	c.openText("probe.yaml", "kind: HTTPRoute")
	c.waitFor("probe.yaml", "problem", func(p publishParams) bool { return len(p.Diagnostics) > 0 }) // the folder is read
	for i, one := range []struct{ text, take, after, not string }{
		// Fields: in an unfinished line, an empty one, an item, a flow; not those that are there.
		{routeHead + "spec:\n  ru|\n", "rules", "spec:\n  rules:\n", ""},
		{routeHead + "spec:\n  rules: []\n  |", "hostnames", "rules: []\n  hostnames:", "rules"},
		{routeHead + "spec:\n  |\n  rules: []\n", "parentRefs", "spec:\n  parentRefs:\n  rules", "rules"},
		{routeHead + "spec:\n  rules:\n  - na|", "name", "- name: ", ""},
		{routeHead + "spec:\n  rules:\n    |", "matches", "    - matches:", ""},
		{routeHead + "spec:\n  rules:\n  - matches: [{path: {val|", "value", "{path: {value: ", "spec"},
		{routeHead + "spec:\n  rules:\n  - matches: [{path: {val|\n    backendRefs: []\n", "value", "{value: \n    backendRefs", ""},
		{routeHead + "spec:\r\n  ru|\r\n", "rules", "spec:\r\n  rules:\r\n", ""},
		{"api|", "apiVersion", "apiVersion:", ""},
		{"apiVersion: v1\nkind: Service\n---\n" + routeHead + "sp|", "spec", "x}\nspec:", "status"},
		// Values.
		{routeHead + "spec:\n  rules:\n  - matches: [{method: P|}]", "POST", "{method: POST}", "value"},
		{"kind: HTTP|", "HTTPRoute", "kind: HTTPRoute", ""},
		{"kind: Backend\napiVersion: |", "gateway.kgateway.dev/v1alpha1", "gateway.kgateway.dev/v1alpha1", "v1"},
		{"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  annotations:\n    delegation.kgateway.dev/inherit-parent-matcher: |", "true", `matcher: "true"`, ""},
		{"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  annotations:\n    del|", "delegation.kgateway.dev/inherit-parent-matcher", "inherit-parent-matcher: ", ""},
		// Names of objects.
		{routeHead + "spec:\n  parentRefs:\n  - name: |", "eg", "- name: eg", "shop"},
		{routeHead + "spec:\n  parentRefs: [{name: eg, sectionName: |}]", "http", "sectionName: http}", ""},
		{routeHead + "spec:\n  rules:\n  - backendRefs:\n    - name: |\n", "shop", "- name: shop\n      kind: Backend\n      group: gateway.kgateway.dev\n", "far"},
		{routeHead + "spec:\n  rules:\n  - backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: s|}]\n", "shop", "name: shop}]", "far"},
		{routeHead + "spec:\n  rules:\n  - backendRefs: [{group: gateway.kgateway.dev, kind: Backend, namespace: b, name: |}]\n", "", "", "shop"},
		{"apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: y}\nspec: {gatewayClassName: |}", "gatefold", "gatewayClassName: gatefold}", ""},
		// Nothing in comments and blocks of text.
		{routeHead + "# |", "", "", "spec"},
		{"apiVersion: v1\nkind: ConfigMap\ndata:\n  a: \\|\n    |", "", "", "kind"},
	} {
		text := strings.ReplaceAll(one.text, `\|`, "\x00")
		params := fmt.Sprintf("probe%d.yaml", i)
		labels, after := c.complete(params, strings.ReplaceAll(text, "\x00", ">"), one.take)
		if !strings.Contains(after, one.after) || one.take != "" && after == "" {
			t.Errorf("%q: %v, then %q", one.text, labels, after)
		}
		for _, label := range labels {
			if label == one.not {
				t.Errorf("%q: proposes %s", one.text, label)
			}
		}
		if one.take == "" && len(labels) > 0 && one.not != "shop" {
			t.Errorf("%q: proposes %v", one.text, labels)
		}
		c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri(params)}})
	}
}

// TestRequiredFirst: the fields that an object must have come first, with their descriptions.
func TestRequiredFirst(t *testing.T) {
	c := connect(t, nil, nil)
	params, _ := c.at("a.yaml", "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nspec:\n  listeners:\n  - |")
	var list completionList
	c.call("textDocument/completion", params, &list)
	var first []string
	for _, item := range list.Items {
		if item.Documentation == "" {
			t.Errorf("%s has no description", item.Label)
		}
		if strings.HasPrefix(item.SortText, "0") {
			first = append(first, item.Label)
		}
	}
	if fmt.Sprint(first) != "[name port protocol]" {
		t.Errorf("%v", first)
	}
}

func TestHover(t *testing.T) {
	c := connect(t, shopFolder(), nil)
	c.waitForFolder()
	for _, one := range []struct{ text, want string }{
		{routeHead + "spec:\n  hostn|ames: [a]\n", "`spec.hostnames`: array of string\n\nHostnames"},
		{routeHead + "spec:\n  rules:\n  - matches: [{path: {ty|pe: Exact}}]\n", "`PathPostfix`\n\nDefault: `PathPrefix`"},
		{"apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nspec:\n  faultInj|ection: {}\n", "gatefold does not serve it"},
		{routeHead + "spec:\n  parentRefs: [{name: e|g}]\n", "→ `Gateway default/eg` in [gateway.yaml:1](" + c.uri("gateway.yaml") + "#L1)"},
		{routeHead + "spec:\n  parentRefs: [{name: e|q}]\n", "which no file of the folder defines"},
		{routeHead + "spec:\n  nonsen|se: 1\n", ""},
		{"|", ""},
	} {
		params, _ := c.at("hover.yaml", one.text)
		var result *hoverResult
		c.call("textDocument/hover", params, &result)
		if (result == nil) != (one.want == "") || result != nil && !strings.Contains(result.Contents.Value, one.want) {
			t.Errorf("%q: %+v", one.text, result)
		}
		c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri("hover.yaml")}})
	}
}

func TestDefinition(t *testing.T) {
	c := connect(t, shopFolder(), nil)
	c.waitForFolder()
	params, _ := c.at("routes/shop.yaml", strings.Replace(routeText, "name: shop\n", "name: sh|op\n", 1))
	var to *location
	c.call("textDocument/definition", params, &to)
	if to == nil || to.URI != c.uri("backend.yaml") || to.Range.Start.Line != 2 {
		t.Errorf("%+v", to)
	}
}

func TestCodeAction(t *testing.T) {
	c := connect(t, shopFolder(), nil)
	for wrong, right := range map[string][2]string{
		strings.Replace(routeText, "backendRefs:", "backendRef:", 1):             {"UnknownField", "backendRefs"},
		strings.Replace(routeText, "      name: shop", "      name: 'shopp'", 1): {"BackendNotFound", "'shop'"},
		strings.Replace(routeText, "  rules:", "  \"rule\":", 1):                 {"UnknownField", `"rules"`},
	} {
		c.openText("routes/shop.yaml", wrong)
		p := c.waitFor("routes/shop.yaml", right[0], func(p publishParams) bool { return len(p.Diagnostics) > 0 && p.Diagnostics[0].Code == right[0] })
		var actions []action
		c.call("textDocument/codeAction", map[string]any{
			"textDocument": map[string]any{"uri": c.uri("routes/shop.yaml")}, "range": p.Diagnostics[0].Range,
			"context": map[string]any{"diagnostics": p.Diagnostics},
		}, &actions)
		if len(actions) == 0 || actions[0].Edit.Changes[c.uri("routes/shop.yaml")][0].NewText != right[1] {
			t.Errorf("%s: %+v for %+v", right[1], actions, p.Diagnostics)
		}
		c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri("routes/shop.yaml")}})
		c.waitForCodes("routes/shop.yaml")
	}
}

// waitForFolder waits until the folder was read.
func (c *client) waitForFolder() {
	c.Helper()
	c.openText("ready.yaml", "kind: HTTPRoute")
	c.waitFor("ready.yaml", "problem", func(p publishParams) bool { return len(p.Diagnostics) > 0 })
}
