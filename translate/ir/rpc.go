package ir

import (
	"net/http"
	"strconv"
)

// RPC is the service and method that a rule of a GRPCRoute matches. An empty Service or Method matches all.
type RPC struct {
	// Is is true if the rule is from a GRPCRoute.
	Is              bool
	Service, Method string
	// Regex is true if Service and Method are regular expressions.
	Regex bool
}

// Unresolved returns the HTTP status for requests whose backend could not be resolved. The Gateway API requires
// 500 for an HTTPRoute (HTTPRouteRule.backendRefs), and UNAVAILABLE for a GRPCRoute
// (GRPCRouteRule.backendRefs). Envoy converts 503 to UNAVAILABLE.
func (p Path) Unresolved() uint32 {
	if p.RPC.Is {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// UnresolvedWords returns the status that a client sees if the backend of its request could not be resolved: "500",
// or the gRPC status "UNAVAILABLE" for a rule of a GRPCRoute. The method Unresolved returns the HTTP status.
func (p Path) UnresolvedWords() string {
	if p.RPC.Is {
		return "UNAVAILABLE"
	}
	return strconv.Itoa(http.StatusInternalServerError)
}
