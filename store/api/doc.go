// Package api holds the Go types of the kinds that are not Gateway API's or
// Kubernetes' own: those of the group gateway.kgateway.dev.
//
// The CRDs in store/api/crds are generated from these types by `make generate`: the
// fields' comments become the descriptions, and the markers (+kubebuilder, +listType,
// +optional) the bounds, defaults and rules. Objects have passed the schema of the CRD
// when a type here is filled, so its promises (lengths, ranges, enums) hold.
//
// +groupName=gateway.kgateway.dev
// +versionName=v1alpha1
package api

// Group and Version name the API of this package's kinds.
const (
	Group   = "gateway.kgateway.dev"
	Version = "v1alpha1"
)

// The kinds of the group.
const (
	KindBackend             = "Backend"
	KindTrafficPolicy       = "TrafficPolicy"
	KindBackendConfigPolicy = "BackendConfigPolicy"
	KindGatewayExtension    = "GatewayExtension"
)
