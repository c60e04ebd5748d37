// Package xds turns ir values into Envoy messages: pure functions, content-hash
// versions, stable names.
package xds

// Resource is one encoded xDS resource. It is immutable, so that all streams share its bytes.
type Resource struct {
	// Type is the type URL, such as RouteType.
	Type string
	// Name is the resource's name in xDS.
	Name string
	// Version is the hash of Body in hex: equal content has an equal version on every replica
	// and after every restart.
	Version string
	// Body is the serialized message that goes into Any.value.
	Body []byte
}

// Update is a change of one resource of one Gateway.
type Update struct {
	// Gateway is "namespace/name", as in Envoy's node.cluster.
	Gateway string
	Type    string
	Name    string
	// Resource is nil if the Gateway no longer uses it.
	Resource *Resource
}
