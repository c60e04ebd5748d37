package xds

// NoCluster is the cluster of a backend that could not be resolved. It is never defined, so
// that its share of the traffic is answered with 500 (Gateway API, HTTPRouteRule.backendRefs).
// The slash distinguishes it from real names.
const NoCluster = "gatefold/unresolved"

// DeniedCluster is the cluster of connections and datagrams whose client is denied. It is never
// defined either.
const DeniedCluster = "gatefold/denied"

// The metadata of a route that is closed names the object for which it is: the access log
// writes it down.
const (
	metadataNamespace = "gatefold.io"
	metadataClosedBy  = "closed_by"
)

// The type URLs of the resources that Envoy is sent.
const (
	ListenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	RouteType    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	ClusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	SecretType   = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	FilterType   = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig"
)

// newResource returns a resource with an encoded message. Its version is the hash of the message
// (docs/design/xds.md).
func newResource(typeURL, name string, body []byte) Resource {
	return Resource{Type: typeURL, Name: name, Version: sumOf(body).String(), Body: body}
}
