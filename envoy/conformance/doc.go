// Package conformance runs the official Gateway API conformance suite against gatefold and a real Envoy,
// without a cluster. It is a Go module of its own, so that gatefold does not depend on the modules that the
// suite needs.
package conformance
