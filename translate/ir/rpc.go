package ir

import "net/http"

// RPC is what a rule of a GRPCRoute asks for; "" is every service or method.
type RPC struct {
	// Is reports whether the rule is of a GRPCRoute.
	Is              bool
	Service, Method string
	// Regex is true if both are regular expressions.
	Regex bool
}

// Unresolved is the status for requests that have no backend: the Gateway API
// wants 500 of an HTTPRoute (HTTPRouteRule.backendRefs), and UNAVAILABLE of a
// GRPCRoute (GRPCRouteRule.backendRefs), which Envoy makes of 503.
func (p Path) Unresolved() uint32 {
	if p.RPC.Is {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
