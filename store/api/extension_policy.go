package api

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// ExtensionRef names a GatewayExtension, in the policy's namespace when Namespace
// is not set. It needs no ReferenceGrant, as in kgateway.
type ExtensionRef struct {
	// Name is the name of the GatewayExtension.
	Name gwv1.ObjectName `json:"name"`
	// Namespace is the namespace of the GatewayExtension. The default is the namespace of the
	// policy.
	Namespace *gwv1.Namespace `json:"namespace,omitempty"`
}

// In returns the reference with its Namespace set. If r has no Namespace, the result has the given one (the parameter
// namespace).
func (r *ExtensionRef) In(namespace string) *ExtensionRef {
	if r.Namespace != nil {
		return r
	}
	filled := gwv1.Namespace(namespace)
	return &ExtensionRef{Name: r.Name, Namespace: &filled}
}

// ExtAuth has an external service decide whether requests may pass. Exactly one of
// ExtensionRef and Disable is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of extensionRef and disable",rule="has(self.extensionRef) != has(self.disable)"
type ExtAuth struct {
	// ExtensionRef names the GatewayExtension of the service.
	ExtensionRef *ExtensionRef `json:"extensionRef,omitempty"`
	// WithRequestBody replaces the withRequestBody of the GatewayExtension.
	WithRequestBody *RequestBody `json:"withRequestBody,omitempty"`
	// ContextExtensions are sent to the service with each request.
	//
	// +kubebuilder:validation:MaxProperties=64
	ContextExtensions map[string]ContextValue `json:"contextExtensions,omitempty"`
	// Disable turns off the extAuth that a policy of a higher level sets, for example a policy of the Gateway.
	Disable *Disable `json:"disable,omitempty"`
}

// ContextValue is a text that a service is sent with each request.
//
// +kubebuilder:validation:MaxLength=4096
type ContextValue = string

// ExtProc lets an external service change requests and responses. Exactly one of
// ExtensionRef and Disable is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of extensionRef and disable",rule="has(self.extensionRef) != has(self.disable)"
type ExtProc struct {
	// ExtensionRef names the GatewayExtension of the service.
	ExtensionRef *ExtensionRef `json:"extensionRef,omitempty"`
	// ProcessingMode replaces the processingMode of the GatewayExtension.
	ProcessingMode *ProcessingMode `json:"processingMode,omitempty"`
	// Disable turns off the extProc that a policy of a higher level sets, for example a policy of the Gateway.
	Disable *Disable `json:"disable,omitempty"`
}

// GlobalRateLimit is counted by an external service for all Envoys together.
type GlobalRateLimit struct {
	// Descriptors say what is counted: Envoy answers 429 to a request that is over the limit
	// of one of them.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Descriptors []RateLimitDescriptor `json:"descriptors"`
	// ExtensionRef names the GatewayExtension of the service.
	ExtensionRef ExtensionRef `json:"extensionRef"`
}

// RateLimitDescriptor is a list of entries that the service knows limits for.
type RateLimitDescriptor struct {
	// Entries are sent to the service together. A request that lacks the header of an entry
	// is not counted by this descriptor.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Entries []RateLimitEntry `json:"entries"`
}

// The types of a RateLimitEntry.
const (
	EntryGeneric       = "Generic"
	EntryHeader        = "Header"
	EntryRemoteAddress = "RemoteAddress"
	EntryPath          = "Path"
)

// RateLimitEntry says which key and value Envoy sends to the service. For the type Generic, the
// field generic has both. For Header, they are the name and the value of the header. For
// RemoteAddress, they are "remote_address" and the client's address. For Path, they are "path" and
// the path with its query.
//
// +kubebuilder:validation:XValidation:message="set generic for the type Generic, header for the type Header, and neither for others",rule="has(self.generic) == (self.type == 'Generic') && has(self.header) == (self.type == 'Header')"
type RateLimitEntry struct {
	// Type says where the key and the value come from.
	//
	// +kubebuilder:validation:Enum=Generic;Header;RemoteAddress;Path
	Type string `json:"type"`
	// Generic is a key and a value that are the same for all requests.
	Generic *GenericEntry `json:"generic,omitempty"`
	// Header is the name of the header whose value is counted.
	Header *HeaderName `json:"header,omitempty"`
}

// GenericEntry is a fixed key and a fixed value: Envoy sends the same entry to the service for every request.
type GenericEntry struct {
	// Key is the key of the entry.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Key string `json:"key"`
	// Value is the value of the entry.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`
}
