package xds

// NoCluster is the name of the cluster of a backend that could not be resolved. No cluster has this name: the names
// of existing clusters have at least two slashes. So Envoy answers the backend's share of requests with 500, or with
// 503 for a GRPCRoute (Gateway API, HTTPRouteRule.backendRefs). Envoy closes the backend's share of connections.
const NoCluster = "gatefold/unresolved"

// DeniedCluster is the name of the cluster for connections and datagrams of denied clients. No such cluster
// exists, so Envoy closes the connections and drops the datagrams.
const DeniedCluster = "gatefold/denied"

// The metadata of a route that fails closed names the object that is the cause (ir.Action.ClosedBy). The access
// log contains the object.
const (
	metadataNamespace = "gatefold.io"
	metadataClosedBy  = "closed_by"
)

// The type URLs of the resources that are sent to Envoy.
const (
	ListenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	RouteType    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	ClusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	SecretType   = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	FilterType   = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig"
)

// newResource returns a resource with an encoded message (the parameter body). The version of the resource is the
// hash of the message (docs/design/xds.md).
func newResource(typeURL, name string, body []byte) Resource {
	return Resource{Type: typeURL, Name: name, Version: sumOf(body).String(), Body: body}
}
