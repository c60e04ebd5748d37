package ir

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// Stream says where connections to a TCP or TLS listener, or datagrams to a UDP listener, are sent. A Stream is
// for all connections or datagrams of the listener, or for some hostnames.
type Stream struct {
	// Listener is the ID of the listener.
	Listener string
	// Chain is the listener's hostname if the listener uses TLS; "*" means every name. Otherwise Chain is "".
	Chain string
	// Domains are the server names (SNI) of the connections, sorted. Each is written like the name of a filter
	// chain (Name of the type Chain): "shop.example.com", "*.example.com" or "*". nil means every connection, with or
	// without TLS.
	Domains []string
	// TLS configures how Envoy terminates TLS. It is nil if there is no TLS, or if the backend terminates it.
	TLS *TLS
	// Route is the route that gets the connections or datagrams. If it is nil, connections are closed and
	// datagrams dropped.
	Route *StreamRoute
	// Behind are routes that claim some of the same domains, but come after Route in the conflict resolution
	// order. They get no connections for these domains.
	Behind []Rival
	// Access says which clients the Stream admits. nil means all clients.
	Access *Access
}

// Access says which clients a Stream admits.
type Access struct {
	// ACL decides by the client's address. It is nil if Closed is set.
	ACL *ACL
	// Closed says why the Stream admits no client. It is "" if ACL decides.
	Closed string
	// Parts are the sources of the Access: the policies with the ACL, or what makes the Stream admit no client.
	Parts []Part
}

// Name returns a name that is unique on the port: the listener's ID, followed by the route's name if there is a
// route.
func (s *Stream) Name() string {
	if s.Route == nil {
		return s.Listener
	}
	return s.Listener + "/" + s.Route.Name()
}

// Raw reports whether Envoy forwards TLS to the backend without terminating it.
func (s *Stream) Raw() bool { return s.Chain != "" && s.TLS == nil }

// Rival is a route that requested domains of a Stream but did not get them, because another route comes first in
// the conflict resolution order.
type Rival struct {
	Route   manifest.Key
	Domains []string // see Stream.Domains
	Why     string   // why the other route comes first
}

// StreamRoute is a TCPRoute, TLSRoute or UDPRoute, with its backends.
type StreamRoute struct {
	Origin *Origin
	// Section is the name of its rule (rules[].name). It is "" if the rule has no name.
	Section string
	// Backends get connections by weight. If a backend has no cluster, or its cluster has no endpoint, its share
	// of connections is closed and its share of datagrams is dropped.
	Backends []Backend
	// Cluster is the only cluster of a UDPRoute, with the endpoints of all Backends. It is "" if no backend can get
	// datagrams (see Live), and for other kinds of routes.
	Cluster string
	// Access says which clients the policies of the route admit. It is nil if they have no acl.
	Access *Access
}

// Name returns the kind, namespace and name of the route, such as "TCPRoute/shop/db".
func (r *StreamRoute) Name() string {
	key := r.Origin.Key
	return key.Kind + "/" + key.Namespace + "/" + key.Name
}

// Live reports whether the route can send connections or datagrams to a backend: at least one backend has a weight
// above 0 and a cluster. The cluster may have no endpoints. Live returns false if r is nil.
func (r *StreamRoute) Live() bool {
	return r != nil && slices.ContainsFunc(r.Backends, func(b Backend) bool { return b.Weight > 0 && b.Cluster != "" })
}
