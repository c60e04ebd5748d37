package delta

import "github.com/gatefold/gatefold/translate/xds"

// The order of sending (docs/design/xds.md): first clusters, endpoints and secrets, then the resources that
// refer to them. Resources that the target no longer has are removed last.

// Types returns the type URLs that are served, in the order of sending.
func Types() []string {
	return []string{
		xds.SecretType, xds.ClusterType, xds.EndpointType,
		xds.ListenerType, xds.FilterType, xds.RouteType,
	}
}

// referredTypes returns the types that listeners and routes refer to. Resources of these types are sent without
// waiting for others.
func referredTypes() []string {
	return []string{xds.SecretType, xds.ClusterType, xds.EndpointType}
}

// referringTypes returns the types whose resources refer to clusters. These resources are sent only after the Envoy
// has answered the clusters that were sent to it. If the Envoy rejects the new form of such a resource, it still
// serves the older form: as long as it does, no resource of removedTypes is removed. A route table that names a JWT
// requirement also waits for the JWT filter: see Plan.awaitsFilter.
func referringTypes() []string {
	return []string{xds.ListenerType, xds.FilterType, xds.RouteType}
}

// removedTypes returns the types whose resources are removed last, after everything else was sent. Listeners are not
// among them. A removed listener is sent together with new listeners, because a new one may need its address. Envoy
// processes removals first.
func removedTypes() []string {
	return []string{xds.FilterType, xds.ClusterType, xds.EndpointType, xds.RouteType, xds.SecretType}
}

// listed reports whether each response of a type lists all resources in the state-of-the-world protocol. For
// such a type, an empty first request subscribes to all resources (xDS protocol, "How the client specifies what
// resources to return").
func listed(typ string) bool {
	return typ == xds.ClusterType || typ == xds.ListenerType
}
