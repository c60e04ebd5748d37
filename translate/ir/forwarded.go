package ir

// ClaimedHeaders are the request headers in which a proxy tells what it has seen, in lower case.
// From a client they are a claim: applications build links, choose tenants and paths, and write logs by
// them. A port without trusted hops in front drops them before it looks for a route.
// X-Forwarded-For and X-Forwarded-Proto are not here, as Envoy writes them itself.
func ClaimedHeaders() []string {
	return []string{
		"forwarded", "x-forwarded-host", "x-forwarded-port", "x-forwarded-prefix", "x-forwarded-server", "x-forwarded-ssl",
		"x-real-ip", "x-original-url", "x-rewrite-url", "x-envoy-attempt-count", "x-envoy-original-dst-host",
	}
}
