// Package xds converts ir values into encoded Envoy messages. Its functions are pure. The version of a resource
// is the hash of its content, and names are stable.
package xds

// Resource is one encoded xDS resource. It is immutable, so that all streams share its bytes.
type Resource struct {
	// Type is the type URL, for example RouteType.
	Type string
	// Name is the resource's name in xDS.
	Name string
	// Version is the hash of the content, in hex. Equal content has an equal version on every replica and after
	// every restart.
	Version string
	// Body is the serialized message that goes into Any.value.
	Body []byte
}

// Update is a change of one resource of one Gateway.
type Update struct {
	// Gateway is the Gateway's "namespace/name", which is Envoy's node.cluster.
	Gateway string
	Type    string
	Name    string
	// Resource is the new version of the resource. It is nil if the Gateway no longer uses the resource.
	Resource *Resource
}
