package xds

import "path"

// ShortType returns the short name of a type, such as "Cluster", for pages, logs and metrics.
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
