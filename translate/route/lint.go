package route

import (
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// checkHTTPHeaders warns of header matches that no request can meet (see checkHeader). It checks the matches in the
// parameter list, which are those of rule i of an HTTPRoute.
func (b *builder) checkHTTPHeaders(i int, list []gwv1.HTTPRouteMatch) {
	for j := range list {
		for k := range list[j].Headers {
			b.checkHeader(i, j, k, string(list[j].Headers[k].Name))
		}
	}
}

// checkGRPCHeaders warns of header matches that no request can meet (see checkHeader). It checks the matches in the
// parameter list, which are those of rule i of a GRPCRoute.
func (b *builder) checkGRPCHeaders(i int, list []gwv1.GRPCRouteMatch) {
	for j := range list {
		for k := range list[j].Headers {
			b.checkHeader(i, j, k, string(list[j].Headers[k].Name))
		}
	}
}

// checkHeader warns of a header name with an underscore: Envoy removes such headers before it looks for a route
// (xds.Listener sets headers_with_underscores_action). The parameters rule, match and header are indexes in the
// route. The parameter name is the name of the header.
func (b *builder) checkHeader(rule, match, header int, name string) {
	if !strings.Contains(name, "_") {
		return
	}
	b.problem(manifest.Warning, "NeverMatches", fmt.Sprintf("spec.rules[%d].matches[%d].headers[%d].name", rule, match, header),
		fmt.Sprintf("this match never matches: Envoy drops request headers with \"_\" in their name, such as %s", name),
		fmt.Sprintf("let clients send another header, such as %s, and match that one", strings.ReplaceAll(name, "_", "-")))
}
