package ir

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// Stream is how connections to a TCP or TLS listener, or datagrams to a UDP listener, are handled:
// all of them, or those for some hostnames.
type Stream struct {
	// Listener is the ID of the listener.
	Listener string
	// Chain is the listener's hostname with TLS ("*" for every name), "" without TLS.
	Chain string
	// Domains are the server names (SNI) of its connections, sorted, as in Chain.Name. nil is
	// every connection, with or without TLS.
	Domains []string
	// TLS configures TLS that ends at Envoy; nil if there is none, or if it ends at the
	// backend.
	TLS *TLS
	// Route is the route that has the stream; nil closes connections and drops datagrams.
	Route *StreamRoute
	// Behind are routes with the same domains that lost to Route, which is older.
	Behind []Rival
	// Access says which clients may use the stream; nil is all of them.
	Access *Access
}

// Access is which clients may use a stream.
type Access struct {
	// ACL decides by the client's address; nil while Closed is set.
	ACL *ACL
	// Closed says why no client may, "" if ACL decides.
	Closed string
	// Parts are the policies with the ACL, or what closes the stream.
	Parts []Part
}

// Name returns a name that is unique on its port. It contains the names of the listener and of the
// route.
func (s *Stream) Name() string {
	if s.Route == nil {
		return s.Listener
	}
	return s.Listener + "/" + s.Route.Name()
}

// Raw reports whether TLS is forwarded to the backend.
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
	// Backends get connections by weight. The share of a backend without a cluster, or whose
	// cluster has no endpoint, is closed or dropped.
	Backends []Backend
	// Cluster is the only cluster of a UDPRoute, with the endpoints of all Backends; "" if none
	// of them is resolved, and for every other kind.
	Cluster string
	// Access is what policies of the route say, nil if they say nothing.
	Access *Access
}

// Name returns "TCPRoute/namespace/name".
func (r *StreamRoute) Name() string {
	key := r.Origin.Key
	return key.Kind + "/" + key.Namespace + "/" + key.Name
}

// Live reports whether the route has a backend that can get traffic.
func (r *StreamRoute) Live() bool {
	return r != nil && slices.ContainsFunc(r.Backends, func(b Backend) bool { return b.Weight > 0 && b.Cluster != "" })
}
