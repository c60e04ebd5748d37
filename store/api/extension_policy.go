package api

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// ExtensionRef names a GatewayExtension, in the policy's namespace when Namespace
// is not set. It needs no ReferenceGrant, as in kgateway.
type ExtensionRef struct {
	Name      gwv1.ObjectName `json:"name"`
	Namespace *gwv1.Namespace `json:"namespace,omitempty"`
}

// In gives the reference with its Namespace, which is namespace where none is set.
func (r *ExtensionRef) In(namespace string) *ExtensionRef {
	if r.Namespace != nil {
		return r
	}
	filled := gwv1.Namespace(namespace)
	return &ExtensionRef{Name: r.Name, Namespace: &filled}
}

// ExtAuth asks a service whether requests may pass. Exactly one of ExtensionRef and
// Disable is set.
type ExtAuth struct {
	ExtensionRef *ExtensionRef `json:"extensionRef,omitempty"`
	// WithRequestBody stands in place of the GatewayExtension's.
	WithRequestBody *RequestBody `json:"withRequestBody,omitempty"`
	// ContextExtensions are told to the service with each request.
	ContextExtensions map[string]string `json:"contextExtensions,omitempty"`
	// Disable takes back what a policy from above has set.
	Disable *Disable `json:"disable,omitempty"`
}

// ExtProc lets a service change requests and answers. Exactly one of ExtensionRef
// and Disable is set.
type ExtProc struct {
	ExtensionRef *ExtensionRef `json:"extensionRef,omitempty"`
	// ProcessingMode stands in place of the GatewayExtension's.
	ProcessingMode *ProcessingMode `json:"processingMode,omitempty"`
	// Disable takes back what a policy from above has set.
	Disable *Disable `json:"disable,omitempty"`
}

// GlobalRateLimit is counted by a service for all Envoys together.
type GlobalRateLimit struct {
	// Descriptors say what is counted: a request that is over the limit of one of
	// them is answered with 429.
	Descriptors  []RateLimitDescriptor `json:"descriptors"`
	ExtensionRef ExtensionRef          `json:"extensionRef"`
}

// RateLimitDescriptor is a list of entries that the service knows limits for. It is
// left out for requests that lack the header of an entry.
type RateLimitDescriptor struct {
	Entries []RateLimitEntry `json:"entries"`
}

// The types of a RateLimitEntry.
const (
	EntryGeneric       = "Generic"
	EntryHeader        = "Header"
	EntryRemoteAddress = "RemoteAddress"
	EntryPath          = "Path"
)

// RateLimitEntry is a key and a value: Generic's own; a header's name and value;
// "remote_address" and the client's; "path" and the path with its query.
type RateLimitEntry struct {
	Type    string        `json:"type"`
	Generic *GenericEntry `json:"generic,omitempty"`
	Header  *string       `json:"header,omitempty"`
}

// GenericEntry is the same for all requests.
type GenericEntry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}
