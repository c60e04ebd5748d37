package delta

import "github.com/gatefold/gatefold/translate/xds"

// The order of sending (docs/design/xds.md): what others refer to goes first, then what refers to
// it, and what the target no longer has goes last.

// Types returns the type URLs that are served, in the order of sending.
func Types() []string {
	return []string{
		xds.SecretType, xds.ClusterType, xds.EndpointType,
		xds.ListenerType, xds.FilterType, xds.RouteType,
	}
}

// referredTypes returns the types that listeners and routes refer to. They are sent at once.
func referredTypes() []string {
	return []string{xds.SecretType, xds.ClusterType, xds.EndpointType}
}

// referringTypes returns the types that wait for the answer to clusters. While the Envoy serves an
// older form of one of them, nothing is removed. Tables that name requirements also wait for the
// filters: see Plan.awaitsFilter.
func referringTypes() []string {
	return []string{xds.ListenerType, xds.FilterType, xds.RouteType}
}

// removedTypes returns the types whose removals wait for everything else. A removed listener is
// sent together with new ones, because a new listener may need its address; Envoy processes
// removals first.
func removedTypes() []string {
	return []string{xds.FilterType, xds.ClusterType, xds.EndpointType, xds.RouteType, xds.SecretType}
}

// listed reports whether state-of-the-world responses of a type list all that there is, and an
// empty request asks for all of it (xDS protocol, "How the client specifies what resources to
// return").
func listed(typ string) bool {
	return typ == xds.ClusterType || typ == xds.ListenerType
}
