package ir

import (
	"github.com/gatefold/gatefold/store/manifest"
)

// Discovery says where a cluster's endpoints come from.
type Discovery uint8

// The kinds of Discovery.
const (
	Static Discovery = iota // IP addresses in the Envoy cluster itself
	DNS                     // host names, resolved by Envoy
	EDS                     // a ClusterLoadAssignment of the same name
)

// Cluster is one backend: a Service port or a Backend object. For a UDPRoute it has the endpoints of all
// backends of the route.
type Cluster struct {
	Name      string
	Discovery Discovery
	// Endpoints are sorted and unique. For an EDS cluster they are sent as a separate resource (xds.Assignment).
	Endpoints []Endpoint
	// HTTP2 is true if the backend speaks HTTP/2, with or without TLS (h2c).
	HTTP2 bool
	// TLS configures TLS to the endpoints. It is nil if connections are not encrypted.
	TLS *UpstreamTLS
	// Closed says why no request may be sent to the cluster. It is "" if requests may be sent. A closed cluster
	// gets no endpoints, and requests are answered with 503.
	Closed string
	// Upstream has the settings of policies. It is nil if there are none.
	Upstream *Upstream
	// Objects are the objects that the cluster is made from. The first is a Service or Backend. Then come the
	// EndpointSlices with its endpoints, the policies that affect it, and the objects with their certificates. For a
	// UDPRoute, Objects are those of all backends with endpoints.
	Objects []manifest.Key
}

// Endpoint is one address of a cluster.
type Endpoint struct {
	Host string // an IP address, or a host name for DNS
	Port uint32
	// Draining is true if the endpoint is about to stop. It keeps its sessions, and gets new requests only if no
	// other endpoint is healthy.
	Draining bool
	// Weight is the weight among the endpoints of the cluster. 0 means that all are equal.
	Weight uint32
}
