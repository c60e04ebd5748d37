package ir

import "net/http"

// RPC is the service and method that a rule of a GRPCRoute matches; "" matches every service or
// method.
type RPC struct {
	// Is reports whether the rule is of a GRPCRoute.
	Is              bool
	Service, Method string
	// Regex is true if both are regular expressions.
	Regex bool
}

// Unresolved returns the HTTP status for requests without a backend. The Gateway API requires 500
// for an HTTPRoute (HTTPRouteRule.backendRefs), and UNAVAILABLE for a GRPCRoute
// (GRPCRouteRule.backendRefs). Envoy converts 503 to UNAVAILABLE.
func (p Path) Unresolved() uint32 {
	if p.RPC.Is {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
