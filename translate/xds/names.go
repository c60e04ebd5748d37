package xds

import resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"

// NoCluster is the cluster of a backend that could not be resolved. It is
// never defined, so that its share of the traffic is answered with 500 (Gateway
// API, HTTPRouteRule.backendRefs). The slash keeps it apart from real names.
const NoCluster = "gatefold/unresolved"

// The types of the resources that this package makes.
const (
	listenerType   = resourcev3.ListenerType
	routeType      = resourcev3.RouteType
	clusterType    = resourcev3.ClusterType
	assignmentType = resourcev3.EndpointType
)

// newResource wraps an encoded message, under its sum as version (docs/design/xds.md).
func newResource(typeURL, name string, body []byte) Resource {
	return Resource{Type: typeURL, Name: name, Version: sumOf(body).String(), Body: body}
}
