package xds

import (
	"crypto/sha256"
	"encoding/hex"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// NoCluster is the cluster of a back end that could not be resolved. It is
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

// newResource wraps an encoded message. The version is the hex of the first 16
// bytes of the content's SHA-256 (design section 7).
func newResource(typeURL, name string, body []byte) Resource {
	sum := sha256.Sum256(body)
	return Resource{Type: typeURL, Name: name, Version: hex.EncodeToString(sum[:16]), Body: body}
}
