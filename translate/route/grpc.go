package route

import (
	"regexp"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// grpcRules returns the rules of a GRPCRoute as rules of an HTTPRoute, without their matches. Filters and
// backendRefs are the same in both kinds.
func grpcRules(from *gwv1.GRPCRoute) []api.HTTPRouteRule {
	out := make([]api.HTTPRouteRule, len(from.Spec.Rules))
	for i := range from.Spec.Rules {
		rule := &from.Spec.Rules[i]
		out[i].Name, out[i].SessionPersistence = rule.Name, rule.SessionPersistence
		out[i].Filters = grpcFilters(rule.Filters)
		for j := range rule.BackendRefs {
			ref := &rule.BackendRefs[j]
			out[i].BackendRefs = append(out[i].BackendRefs, gwv1.HTTPBackendRef{BackendRef: ref.BackendRef, Filters: grpcFilters(ref.Filters)})
		}
	}
	return out
}

// grpcMatches converts the matches of a rule of a GRPCRoute. For an empty list, it returns one match that
// accepts every call.
func grpcMatches(list []gwv1.GRPCRouteMatch) []ir.Match {
	out := make([]ir.Match, max(1, len(list)))
	out[0].Path = grpcPath(nil)
	for i := range list {
		out[i].Path = grpcPath(list[i].Method)
		for _, h := range list[i].Headers {
			out[i].Headers = append(out[i].Headers, ir.ValueMatch{
				Name: strings.ToLower(string(h.Name)), Value: h.Value,
				Regex: h.Type != nil && *h.Type == gwv1.GRPCHeaderMatchRegularExpression,
			})
		}
		out[i].Headers = firstOfName(out[i].Headers)
	}
	return out
}

// grpcPath returns the path match for the calls that m selects: a call goes to /SERVICE/METHOD. If the service or the
// method is not set, every service or method matches. If m is nil, it selects all calls.
func grpcPath(m *gwv1.GRPCMethodMatch) ir.Path {
	path := ir.Path{Kind: ir.PathPrefix, Value: "/", RPC: ir.RPC{Is: true}}
	if m == nil {
		return path
	}
	service, method := api.Text(m.Service), api.Text(m.Method)
	path.RPC.Service, path.RPC.Method = service, method
	path.RPC.Regex = m.Type != nil && *m.Type == gwv1.GRPCMethodMatchRegularExpression
	switch {
	case path.RPC.Regex:
		path.Kind, path.Value = ir.PathRegex, "/"+pattern(service)+"/"+pattern(method)
	case service == "" && method == "":
	case method == "":
		path.Value = "/" + service
	case service == "":
		path.Kind, path.Value = ir.PathRegex, "/"+pattern("")+"/"+regexp.QuoteMeta(method)
	default:
		path.Kind, path.Value = ir.PathExact, "/"+service+"/"+method
	}
	return path
}

// pattern returns a regular expression for one path segment: regex as a group or, if regex is "", an expression
// that matches any segment.
func pattern(regex string) string {
	if regex == "" {
		return "[^/]+"
	}
	return "(?:" + regex + ")"
}
