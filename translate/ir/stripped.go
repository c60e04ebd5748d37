package ir

// StrippedHeaders returns the headers, in lower case, that Envoy removes from every client's request before it looks
// for a route. The value is the reason as text. The list was measured on Envoy 1.40: for each header, a client sent
// it, and neither a template nor a backend received it.
func StrippedHeaders() map[string]string {
	return map[string]string{
		// Only Envoys write these headers, to recognize requests inside a mesh. gatefold's Envoys are at the edge of a
		// mesh.
		"x-envoy-internal":                   "it tells requests from inside",
		"x-envoy-decorator-operation":        "it names an operation in a trace",
		"x-envoy-downstream-service-cluster": "it names the Envoy that sends",
		"x-envoy-downstream-service-node":    "it names the Envoy that sends",
		UserHeader:                           "Envoy reports the user of basicAuth in it",
		"x-envoy-ip-tags":                    "it tells what Envoy knows of the client's address",
		"x-envoy-force-trace":                "it would have the request traced",
		// Envoy writes these headers if a route rewrites. A client could forge them.
		"x-envoy-original-host": "Envoy writes it where a route rewrites the host",
		"x-envoy-original-path": "Envoy writes it where a route rewrites the path",
		"x-envoy-original-url":  "it would tell the URL before a rewrite",
		// These headers would change how the router sends the request.
		"x-envoy-expected-rq-timeout-ms":           "Envoy writes it where a rule has a timeout",
		"x-envoy-hedge-on-per-try-timeout":         "it would change retries",
		"x-envoy-max-retries":                      "it would change retries",
		"x-envoy-retriable-header-names":           "it would change retries",
		"x-envoy-retriable-status-codes":           "it would change retries",
		"x-envoy-retry-grpc-on":                    "it would change retries",
		"x-envoy-retry-on":                         "it would change retries",
		"x-envoy-upstream-alt-stat-name":           "it would name a counter",
		"x-envoy-upstream-rq-per-try-timeout-ms":   "it would change timeouts",
		"x-envoy-upstream-rq-timeout-alt-response": "it would change the answer to a timeout",
		"x-envoy-upstream-rq-timeout-ms":           "it would change timeouts",
		"x-envoy-upstream-stream-duration-ms":      "it would change timeouts",
		// With this header a client could claim the certificate of another client.
		"x-forwarded-client-cert": "it would claim a certificate",
		// These headers belong to one connection only (RFC 9110, section 7.6.1).
		"keep-alive":        "it is of the client's connection",
		"proxy-connection":  "it is of the client's connection",
		"transfer-encoding": "it is of the client's connection",
	}
}
