package schema

import (
	"strings"
	"testing"
)

// TestHTTPRoutePatches checks the three patches on the HTTPRoute schema (docs/design/inputs.md): what they admit, and what they still reject.
func TestHTTPRoutePatches(t *testing.T) {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {rules: [%s]}}`
	for _, c := range []struct{ rule, field string }{
		{`{allowedRoutes: {namespaces: {from: All}}}`, ""},
		{`{allowedRoutes: {namespaces: {from: None}}}`, ""},
		{`{allowedRoutes: {}, backendRefs: []}`, ""},
		{`{allowedRoutes: {}, backendRefs: [{name: a, port: 80}]}`, "spec.rules[0]"},
		{`{allowedRoutes: {namespaces: {from: Nobody}}}`, "spec.rules[0].allowedRoutes.namespaces.from"},
		{`{matches: [{path: {type: PathPostfix, value: .html}}]}`, ""},
		{`{matches: [{path: {type: PathPostfix, value: "/a//b"}}]}`, "spec.rules[0].matches[0].path"},
		{`{matches: [{path: {type: PathPrefix, value: a}}]}`, "spec.rules[0].matches[0].path"},
		{`{backendRefs: [{name: c, kind: HTTPRoute, group: gateway.networking.k8s.io, namespace: ""}]}`, ""},
		{`{backendRefs: [{name: c, kind: HTTPRoute, group: gateway.networking.k8s.io, namespace: A}]}`, "spec.rules[0].backendRefs[0].namespace"},
		{`{filters: null, backendRefs: [{name: a, port: 80}]}`, "spec.rules[0].filters"},
		{`{matches: null, backendRefs: [{name: a, port: 80, weight: null}]}`, ""},
	} {
		_, found := checked(t, strings.Replace(route, "%s", c.rule, 1))
		if c.field == "" && len(found) > 0 || c.field != "" && (len(found) == 0 || found[0].Field != c.field) {
			t.Errorf("%s: %v, want one at %q", c.rule, found, c.field)
		}
	}
}
