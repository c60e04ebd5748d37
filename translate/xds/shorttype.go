package xds

import "path"

// ShortType returns the short name of a type URL, for example "Cluster", for pages, logs and metrics. For an
// unknown type it returns the last element of the URL.
func ShortType(typeURL string) string {
	switch typeURL {
	case ClusterType:
		return "Cluster"
	case EndpointType:
		return "ClusterLoadAssignment"
	case ListenerType:
		return "Listener"
	case RouteType:
		return "RouteConfiguration"
	case FilterType:
		return "TypedExtensionConfig"
	case SecretType:
		return "Secret"
	}
	return path.Base(typeURL)
}
