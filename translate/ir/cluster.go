package ir

import (
	"github.com/gatefold/gatefold/store/manifest"
)

// Discovery says where a cluster's endpoints come from.
type Discovery uint8

// The kinds of discovery.
const (
	Static Discovery = iota // addresses inside the cluster
	DNS                     // host names, resolved by Envoy
	EDS                     // a ClusterLoadAssignment of the same name
)

// Cluster is one backend: a Service port or a Backend object.
type Cluster struct {
	Name      string
	Discovery Discovery
	// Endpoints are sorted and unique. Those of an EDS cluster are sent in its Assignment.
	Endpoints []Endpoint
	// HTTP2 is true if the backend speaks HTTP/2, with or without TLS (h2c).
	HTTP2 bool
	// TLS is nil for clear text.
	TLS *UpstreamTLS
	// Closed says why nothing may be sent to it, "" if nothing is wrong. The cluster then gets
	// no endpoints, and requests are answered with 503.
	Closed string
	// Upstream is what policies set, nil when there are none.
	Upstream *Upstream
	// Objects are the objects that it is made from: the Service or Backend first, then the
	// EndpointSlices with its endpoints, the policies in force, and their certificates.
	Objects []manifest.Key
}

// Endpoint is one address of a cluster.
type Endpoint struct {
	Host string // an IP address, or a host name for DNS
	Port uint32
	// Draining is true if it keeps existing sessions but gets no new requests.
	Draining bool
	// Weight is its weight among the endpoints of the cluster; 0 if all are equal.
	Weight uint32
}
