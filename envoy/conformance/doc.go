// Package conformance runs the official Gateway API conformance suite against
// gatefold and a real Envoy, without a cluster. It is a Go module of its own:
// what the suite needs does not belong into the server.
package conformance
