// Package api holds the Go types of the kinds that are not Gateway API's or
// Kubernetes' own: those of the group gateway.kgateway.dev.
//
// A type and its CRD in store/schema/crds say the same; a test of package
// schema compares them. Objects have passed the CRD's schema when a type here
// is filled, so its promises (lengths, ranges, enums) hold.
package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// BackendType says where a Backend's endpoints come from.
type BackendType string

// BackendTypeStatic is a Backend whose hosts are written in its spec.
const BackendTypeStatic BackendType = "Static"

// AppProtocol is the protocol that a Backend's hosts speak; "" is HTTP/1.1.
type AppProtocol string

// The application protocols; all three mean HTTP/2 without TLS to Envoy.
const (
	AppProtocolHTTP2 AppProtocol = "http2"
	AppProtocolGRPC  AppProtocol = "grpc"
	AppProtocolH2C   AppProtocol = "kubernetes.io/h2c"
)

// Backend is a target that is no Service: what a route's backendRefs name with
// group gateway.kgateway.dev and kind Backend.
type Backend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BackendSpec `json:"spec"`
}

// BackendSpec holds exactly the part that its Type names.
type BackendSpec struct {
	Type   BackendType    `json:"type"`
	Static *StaticBackend `json:"static,omitempty"`
}

// StaticBackend is a fixed list of hosts.
type StaticBackend struct {
	// Hosts are 1 to 256 endpoints.
	Hosts []Host `json:"hosts"`
	// AppProtocol is what the hosts speak; nil is HTTP/1.1.
	AppProtocol *AppProtocol `json:"appProtocol,omitempty"`
}

// Host is one endpoint.
type Host struct {
	// Host is an IP address (v6 without brackets) or a DNS name.
	Host string `json:"host"`
	// Port is from 1 to 65535.
	Port int32 `json:"port"`
}
