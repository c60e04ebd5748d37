package route

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Envoy changes the path and headers of a request before it looks for a route, and does not change what a match says
// (docs/design/gateways.md). A match that no request can meet is a warning: its requests go to other rules, and so
// without what protects the rule.

// codeNeverMatches is the code of the warning about a match that no request can meet.
const codeNeverMatches = "NeverMatches"

// checkHTTPMatches warns of matches that no request can meet. The parameter list has the matches of rule i of an
// HTTPRoute.
func (b *builder) checkHTTPMatches(i int, list []gwv1.HTTPRouteMatch) {
	for j, match := range list {
		place := fmt.Sprintf("spec.rules[%d].matches[%d].", i, j)
		if path := match.Path; path != nil && path.Value != nil {
			b.checkPath(place+"path.value", *path.Value, path.Type != nil && *path.Type == gwv1.PathMatchRegularExpression)
		}
		for k, header := range match.Headers {
			b.checkHeader(fmt.Sprintf("%sheaders[%d].name", place, k), string(header.Name))
		}
		for k, parameter := range match.QueryParams {
			field := fmt.Sprintf("%squeryParams[%d]", place, k)
			b.checkParameter(field+".name", string(parameter.Name), "&=# ")
			if parameter.Type == nil || *parameter.Type == gwv1.QueryParamMatchExact {
				b.checkParameter(field+".value", parameter.Value, "&# ")
			}
		}
	}
}

// checkGRPCMatches warns of matches that no request can meet. The parameter list has the matches of rule i of a
// GRPCRoute.
func (b *builder) checkGRPCMatches(i int, list []gwv1.GRPCRouteMatch) {
	for j, match := range list {
		for k, header := range match.Headers {
			b.checkHeader(fmt.Sprintf("spec.rules[%d].matches[%d].headers[%d].name", i, j, k), string(header.Name))
		}
	}
}

// neverMatches warns that no request can meet a match, because of one field.
func (b *builder) neverMatches(field, why, hint string) {
	b.problem(manifest.Warning, codeNeverMatches, field, "this match never matches, and its requests go to other rules: "+why, hint)
}

// checkHeader warns of a header that Envoy removes before it looks for a route: headers with an underscore by
// headers_with_underscores_action, and those of ir.StrippedHeaders and ir.ClaimedHeaders. The parameter field is the
// path of the header's name.
func (b *builder) checkHeader(field, name string) {
	why, stripped := ir.StrippedHeaders()[strings.ToLower(name)]
	if !b.trusted && slices.Contains(ir.ClaimedHeaders(), strings.ToLower(name)) {
		why, stripped = "anybody could claim it, and no hop in front is trusted (--trusted-hops)", true
	}
	switch {
	case strings.Contains(name, "_"):
		b.neverMatches(field, fmt.Sprintf("Envoy drops request headers with \"_\" in their name, such as %s", name),
			fmt.Sprintf("let clients send another header, such as %s, and match that one", strings.ReplaceAll(name, "_", "-")))
	case stripped:
		b.neverMatches(field, fmt.Sprintf("Envoy removes %s from requests: %s", name, why), "match another header")
	}
}

// checkParameter warns of the name or value of a query parameter with characters that end it, or that no request has.
// Envoy compares parameters as they are sent, and decodes nothing.
func (b *builder) checkParameter(field, text, ends string) {
	if i := strings.IndexAny(text, ends); i >= 0 {
		b.neverMatches(field, fmt.Sprintf("Envoy compares query parameters as they are sent, and none has %q in it", text[i:i+1]),
			fmt.Sprintf("write it as clients send it: %%%02X", text[i]))
	}
}
