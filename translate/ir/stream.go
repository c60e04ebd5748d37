package ir

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// Stream is what becomes of connections to a listener of protocol TCP or TLS, or of
// the datagrams to one of UDP: of all of them, or of those for some hostnames.
type Stream struct {
	// Listener is the ID of the listener.
	Listener string
	// Chain is the listener's hostname with TLS, "*" for every one, else "".
	Chain string
	// Domains are the names that clients ask for in the handshake (SNI), sorted: as
	// Chain.Name. nil stands for all that comes, with or without TLS.
	Domains []string
	// TLS is how TLS ends here; nil where it goes on to the backend, or is none.
	TLS *TLS
	// Route has the stream; nil closes connections, and drops datagrams.
	Route *StreamRoute
	// Behind are routes that ask for the same and lost to Route, which is older.
	Behind []Rival
}

// Name is unique on its port: the listener's, and the route's below it.
func (s *Stream) Name() string {
	if s.Route == nil {
		return s.Listener
	}
	return s.Listener + "/" + s.Route.Name()
}

// Raw is true if TLS goes through to the backend.
func (s *Stream) Raw() bool { return s.Chain != "" && s.TLS == nil }

// Rival is a route that lost domains of a Stream.
type Rival struct {
	Route   manifest.Key
	Domains []string // as in Stream
}

// StreamRoute is a TCPRoute, TLSRoute or UDPRoute.
type StreamRoute struct {
	Origin *Origin
	// Section is the name of its rule (rules[].name), "" without one.
	Section string
	// Backends take connections by weight. One without a cluster, or whose cluster
	// has no endpoint, has its share closed, or dropped.
	Backends []Backend
	// Cluster is the one cluster of a UDPRoute, which holds the endpoints of all
	// Backends; "" where none of them is resolved, and for every other kind.
	Cluster string
}

// Name is "TCPRoute/namespace/name".
func (r *StreamRoute) Name() string {
	key := r.Origin.Key
	return key.Kind + "/" + key.Namespace + "/" + key.Name
}

// Live reports whether anything can be sent anywhere.
func (r *StreamRoute) Live() bool {
	return r != nil && slices.ContainsFunc(r.Backends, func(b Backend) bool { return b.Weight > 0 && b.Cluster != "" })
}
