package lsp

import (
	"strings"
	"testing"
)

const gatewayText = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}
`

const backendText = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: shop}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 8081}]}}
`

const routeText = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: /shop}}]
    backendRefs:
    - group: gateway.kgateway.dev
      kind: Backend
      name: shop
`

func shopFolder() map[string]string {
	return map[string]string{"gateway.yaml": gatewayText, "backend.yaml": backendText, "routes/shop.yaml": routeText}
}

// TestDiagnosticsFollowEdits: what is not saved counts, files that are not open are shown, and what
// is fixed is cleared.
func TestDiagnosticsFollowEdits(t *testing.T) {
	c := connect(t, shopFolder(), nil)
	c.openText("routes/shop.yaml", strings.Replace(routeText, "backendRefs:", "backendRef:", 1))
	p := c.waitForCodes("routes/shop.yaml", "UnknownField")
	d := p.Diagnostics[0]
	if d.Range != (span{position{7, 4}, position{7, 14}}) || d.Severity != severityError || d.Source != "gatefold" || p.Version == nil || *p.Version != 1 {
		t.Errorf("%+v", p)
	}
	if d.CodeDescription == nil || !strings.HasSuffix(d.CodeDescription.Href, "problems.md#unknownfield") || !strings.Contains(d.Message, `did you mean "backendRefs"?`) {
		t.Errorf("%+v", d)
	}
	c.edit("routes/shop.yaml", 2, span{position{7, 14}, position{7, 14}}, "s")
	c.waitForCodes("routes/shop.yaml")

	// The backend is opened and renamed there: the route is on disk, and broken.
	c.openText("backend.yaml", backendText)
	c.edit("backend.yaml", 2, span{position{2, 17}, position{2, 21}}, "store")
	c.waitForCodes("routes/shop.yaml", "BackendNotFound")
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri("backend.yaml")}})
	c.waitForCodes("routes/shop.yaml")

	// Another program writes a file.
	c.write("gateway.yaml", strings.Replace(gatewayText, "HTTP}", "HTTPX}", 1))
	c.waitFor("gateway.yaml", "problem", func(p publishParams) bool { return len(p.Diagnostics) > 0 && p.Version == nil })
	c.write("gateway.yaml", gatewayText)
	c.waitForCodes("gateway.yaml")
}
