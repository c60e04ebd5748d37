package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AppProtocol is the protocol that a Backend's hosts speak; "" is HTTP/1.1.
//
// +kubebuilder:validation:Enum=http2;grpc;kubernetes.io/h2c
type AppProtocol string

// The application protocols; all three mean HTTP/2 without TLS to Envoy.
const (
	AppProtocolHTTP2 AppProtocol = "http2"
	AppProtocolGRPC  AppProtocol = "grpc"
	AppProtocolH2C   AppProtocol = "kubernetes.io/h2c"
)

// Backend is a target of routes that is no Service. A backendRef names it with
// group gateway.kgateway.dev and kind Backend.
type Backend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says where the endpoints are.
	Spec BackendSpec `json:"spec"`
}

// BackendSpec has the endpoints of a Backend.
//
// +kubebuilder:validation:XValidation:message="static is missing: it has the endpoints of the Backend",rule="has(self.static)",fieldPath=".static"
type BackendSpec struct {
	// Type says where the endpoints come from. gatefold does not need it, but older versions of kgateway
	// require it.
	//
	// +kubebuilder:validation:Enum=Static
	Type *string `json:"type,omitempty"`
	// Static is a fixed list of endpoints.
	Static *StaticBackend `json:"static,omitempty"`
}

// StaticBackend is a fixed list of hosts.
type StaticBackend struct {
	// Hosts are the endpoints.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Hosts []Host `json:"hosts"`
	// AppProtocol is the protocol that the hosts speak: HTTP/2 without TLS for each of its
	// values, HTTP/1.1 when it is not set.
	AppProtocol *AppProtocol `json:"appProtocol,omitempty"`
}

// Host is one endpoint.
type Host struct {
	// Host is an IP address (v6 without brackets) or a DNS name. A name may have '_', as those of container engines.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:message="host must be an IP address or a DNS name: lower-case letters, digits, '-' and '_' in labels joined by '.'",rule="isIP(self) || (!self.matches('^[0-9.]+$') && self.matches('^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?([.][a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$'))"
	Host string `json:"host"`
	// Port is the number of a TCP port.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}
