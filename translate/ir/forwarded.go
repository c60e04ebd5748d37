package ir

// ClaimedHeaders returns the request headers, in lower case, in which a proxy reports facts about the request.
// A client can send them with any value, but applications build links, choose tenants and paths, and write logs
// from them. A port without trusted hops removes them before it selects a route. X-Forwarded-For and
// X-Forwarded-Proto are not included, because Envoy writes them itself.
func ClaimedHeaders() []string {
	return []string{
		"forwarded", "x-forwarded-host", "x-forwarded-port", "x-forwarded-prefix", "x-forwarded-server", "x-forwarded-ssl",
		"x-real-ip", "x-original-url", "x-rewrite-url", "x-envoy-attempt-count", "x-envoy-original-dst-host",
	}
}
