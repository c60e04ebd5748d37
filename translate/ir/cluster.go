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
	// Endpoints are sorted and unique. For EDS they go into Assignment.
	Endpoints []Endpoint
	// HTTP2 is true if the backend speaks HTTP/2; it needs no TLS for that (h2c).
	HTTP2 bool
	// TLS is nil for clear text.
	TLS *UpstreamTLS
	// Closed says why nothing may be sent to it, though it has endpoints: it is left
	// without, and requests are answered with 503. "" when nothing is wrong.
	Closed string
	// Upstream is what policies set, nil when there are none.
	Upstream *Upstream
	// Objects are those it is made from: the Service or Backend first, then the
	// EndpointSlices that give it endpoints, then the policies in force, and their
	// certificates.
	Objects []manifest.Key
}

// Endpoint is one address of a cluster.
type Endpoint struct {
	Host string // an IP address, or a host name for DNS
	Port uint32
	// Draining keeps existing sessions but takes no new requests.
	Draining bool
	// Weight is its share among the endpoints of the cluster; 0 where all are equal.
	Weight uint32
}
