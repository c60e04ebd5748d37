package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// GatewayExtension describes an external service that Envoy calls for requests, or the issuers
// of the tokens that Envoy accepts. TrafficPolicies refer to a GatewayExtension in extAuth, extProc,
// oauth2, rateLimit.global and jwtAuth.
type GatewayExtension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the service or the issuers.
	Spec GatewayExtensionSpec `json:"spec"`
}

// GatewayExtensionStatus says whether policies can name the extension.
type GatewayExtensionStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopy gives a status that shares nothing with s.
func (s *GatewayExtensionStatus) DeepCopy() *GatewayExtensionStatus {
	out := &GatewayExtensionStatus{Conditions: make([]metav1.Condition, len(s.Conditions))}
	for i := range s.Conditions {
		s.Conditions[i].DeepCopyInto(&out.Conditions[i])
	}
	return out
}

// GatewayExtensionSpec sets exactly one service: extAuth, extProc, oauth2, rateLimit or jwt.
//
// +kubebuilder:validation:XValidation:message="set exactly one of extAuth, extProc, jwt, oauth2 and rateLimit",rule="[has(self.extAuth), has(self.extProc), has(self.jwt), has(self.oauth2), has(self.rateLimit)].filter(x, x).size() == 1"
// +kubebuilder:validation:XValidation:message="set what type names",rule="!has(self.type) || (self.type == 'ExtAuth' ? has(self.extAuth) : self.type == 'ExtProc' ? has(self.extProc) : self.type == 'JWT' ? has(self.jwt) : self.type == 'OAuth2' ? has(self.oauth2) : has(self.rateLimit))"
type GatewayExtensionSpec struct {
	// Type is the kind of the service that is set. gatefold does not need it, but older versions of kgateway
	// require it.
	//
	// +kubebuilder:validation:Enum=ExtAuth;ExtProc;JWT;OAuth2;RateLimit
	Type *string `json:"type,omitempty"`

	// ExtAuth decides whether a request may pass.
	ExtAuth *ExtAuthProvider `json:"extAuth,omitempty"`
	// ExtProc sees and changes requests and responses.
	ExtProc *ExtProcProvider `json:"extProc,omitempty"`
	// OAuth2 is an identity provider that users sign in at.
	OAuth2 *OAuth2Provider `json:"oauth2,omitempty"`
	// RateLimit counts requests for all Envoys together.
	RateLimit *RateLimitProvider `json:"rateLimit,omitempty"`
	// JWT says which tokens of clients are accepted.
	JWT *JWT `json:"jwt,omitempty"`
}

// GRPCService is a service that Envoy calls with gRPC.
type GRPCService struct {
	// BackendRef is the Service or Backend with the endpoints of the gRPC service. Envoy speaks
	// HTTP/2 to them.
	BackendRef BackendRef `json:"backendRef"`
	// Authority is the :authority header of calls; the cluster's name when it is not set.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._:\[\]-]+$`
	Authority *string `json:"authority,omitempty"`
	// RequestTimeout limits the time of a call. For extProc, one call is the stream for a whole request.
	RequestTimeout *PositiveDuration `json:"requestTimeout,omitempty"`
	// Retry repeats calls that fail.
	Retry *ServiceRetry `json:"retry,omitempty"`
}

// BackendRef is a reference of the Gateway API to a Service or a Backend.
//
// +kubebuilder:validation:XValidation:message="a reference to a Service needs a port",rule=`self.group != "" || self.kind != "Service" || has(self.port)`
type BackendRef struct {
	// Group is "" for a Service, and gateway.kgateway.dev for a Backend.
	//
	// +kubebuilder:default=""
	Group *gwv1.Group `json:"group,omitempty"`
	// Kind is Service or Backend.
	//
	// +kubebuilder:default=Service
	Kind *gwv1.Kind `json:"kind,omitempty"`
	// Name is the name of the Service or Backend.
	Name gwv1.ObjectName `json:"name"`
	// Namespace is the namespace of the Service or Backend. When Namespace is not set, it is the
	// namespace of the GatewayExtension. Another namespace must allow the reference with a
	// ReferenceGrant.
	Namespace *gwv1.Namespace `json:"namespace,omitempty"`
	// Port is the port of a Service, which needs one.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// Weight has no effect, as there is one reference.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +kubebuilder:default=1
	Weight *int32 `json:"weight,omitempty"`
}

// Object returns the reference in the Gateway API's type, without the weight.
func (r *BackendRef) Object() gwv1.BackendObjectReference {
	return gwv1.BackendObjectReference{Group: r.Group, Kind: r.Kind, Name: r.Name, Namespace: r.Namespace, Port: r.Port}
}

// ServiceRetry repeats calls that fail.
type ServiceRetry struct {
	// Attempts is how often a call is repeated.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	Attempts int32 `json:"attempts,omitempty"`
	// Backoff is the time between attempts.
	Backoff *ServiceBackoff `json:"backoff,omitempty"`
}

// ServiceBackoff is the time between attempts, which grows with each attempt.
//
// +kubebuilder:validation:XValidation:message="maxInterval must not be less than baseInterval",rule="!has(self.maxInterval) || duration(self.maxInterval) >= duration(self.baseInterval)"
type ServiceBackoff struct {
	// BaseInterval is the time before the first repetition.
	BaseInterval PositiveDuration `json:"baseInterval"`
	// MaxInterval is the longest time between attempts; 10 times BaseInterval when it is not
	// set.
	MaxInterval *Duration `json:"maxInterval,omitempty"`
}

// ExtAuthProvider is a service that decides whether a request may pass. Envoy asks it with gRPC
// (envoy.service.auth.v3) or with an HTTP request.
//
// +kubebuilder:validation:XValidation:message="set exactly one of grpcService and httpService",rule="has(self.grpcService) != has(self.httpService)"
type ExtAuthProvider struct {
	// GRPCService is a service that Envoy asks with gRPC.
	GRPCService *GRPCService `json:"grpcService,omitempty"`
	// HTTPService is a service that Envoy asks with an HTTP request ("forward authentication").
	HTTPService *HTTPService `json:"httpService,omitempty"`
	// HeadersToForward are the headers of the request that the service sees. When the list is
	// empty, a GRPCService sees all headers. An HTTPService always sees Host, Authorization, the
	// method and the path. When the list is empty, it sees nothing else.
	//
	// +kubebuilder:validation:MaxItems=64
	HeadersToForward []AnyHeaderName `json:"headersToForward,omitempty"`
	// FailOpen lets requests pass while the service does not answer.
	FailOpen bool `json:"failOpen,omitempty"`
	// ClearRouteCache chooses the route again when the service has answered. It is not
	// supported.
	//
	// +kubebuilder:validation:Enum=false
	ClearRouteCache bool `json:"clearRouteCache,omitempty"`
	// WithRequestBody sends the body of requests to the service.
	WithRequestBody *RequestBody `json:"withRequestBody,omitempty"`
	// StatusOnError is the status code of the response while the service does not answer.
	//
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=511
	// +kubebuilder:default=403
	StatusOnError int32 `json:"statusOnError,omitempty"`
	// StatPrefix is put before the names of the filter's statistics.
	StatPrefix *StatPrefix `json:"statPrefix,omitempty"`
	// PercentageEnabled is the share of requests that the service decides about; 100 when it
	// is not set. All other requests pass.
	PercentageEnabled *Percentage `json:"percentageEnabled,omitempty"`
}

// RequestBody sends the body of a request to the service. Envoy buffers it meanwhile.
type RequestBody struct {
	// MaxRequestBytes limits the bytes of a body that are sent. Envoy answers 413 to a request with
	// a longer body, unless AllowPartialMessage is set.
	//
	// +kubebuilder:validation:Minimum=1
	MaxRequestBytes int32 `json:"maxRequestBytes"`
	// AllowPartialMessage sends only the first MaxRequestBytes bytes of a longer body, in place of
	// the answer 413.
	AllowPartialMessage bool `json:"allowPartialMessage,omitempty"`
	// PackAsBytes sends the body as bytes in place of UTF-8 text.
	PackAsBytes bool `json:"packAsBytes,omitempty"`
}

// ExtProcProvider is a service that sees requests and responses and may change them. Envoy calls
// it with gRPC (envoy.service.ext_proc.v3).
type ExtProcProvider struct {
	// GRPCService is where the service answers.
	GRPCService GRPCService `json:"grpcService"`
	// FailOpen lets requests pass while the service does not answer.
	//
	// +kubebuilder:default=true
	FailOpen *bool `json:"failOpen,omitempty"`
	// ProcessingMode says which parts of requests and responses the service sees.
	ProcessingMode *ProcessingMode `json:"processingMode,omitempty"`
	// AllowProcessingModeOverride lets the service change the mode for a request.
	AllowProcessingModeOverride bool `json:"allowProcessingModeOverride,omitempty"`
	// AllowedProcessingModeOverrides are the modes that the service may change to. When the list
	// is empty, the service may change to any mode.
	//
	// +kubebuilder:validation:MaxItems=16
	AllowedProcessingModeOverrides []ProcessingMode `json:"allowedProcessingModeOverrides,omitempty"`
	// MessageTimeout limits the time until the answer to a message; 200ms when it is not set.
	MessageTimeout *PositiveDuration `json:"messageTimeout,omitempty"`
	// MaxMessageTimeout is the longest time that the service may ask for in place of
	// MessageTimeout.
	MaxMessageTimeout *PositiveDuration `json:"maxMessageTimeout,omitempty"`
	// StatPrefix is put before the names of the filter's statistics.
	StatPrefix *StatPrefix `json:"statPrefix,omitempty"`
	// RouteCacheAction says whether the route is chosen again when the service has changed a
	// request. gatefold supports only Retain: the route is not chosen again.
	//
	// +kubebuilder:validation:Enum=Retain
	RouteCacheAction *string `json:"routeCacheAction,omitempty"`
}

// HeaderMode says whether a service sees headers or trailers.
//
// +kubebuilder:validation:Enum=DEFAULT;SEND;SKIP
type HeaderMode = string

// BodyMode says whether and how a service sees a body.
//
// +kubebuilder:validation:Enum=NONE;STREAMED;BUFFERED;BUFFERED_PARTIAL;FULL_DUPLEX_STREAMED
type BodyMode = string

// ProcessingMode says which parts of requests and responses an ExtProcProvider sees.
type ProcessingMode struct {
	// RequestHeaderMode is for the headers of requests.
	//
	// +kubebuilder:default=SEND
	RequestHeaderMode HeaderMode `json:"requestHeaderMode,omitempty"`
	// ResponseHeaderMode is for the headers of responses.
	//
	// +kubebuilder:default=SEND
	ResponseHeaderMode HeaderMode `json:"responseHeaderMode,omitempty"`
	// RequestBodyMode is for the bodies of requests.
	//
	// +kubebuilder:default=NONE
	RequestBodyMode BodyMode `json:"requestBodyMode,omitempty"`
	// ResponseBodyMode is for the bodies of responses.
	//
	// +kubebuilder:default=NONE
	ResponseBodyMode BodyMode `json:"responseBodyMode,omitempty"`
	// RequestTrailerMode is for the trailers of requests.
	//
	// +kubebuilder:default=SKIP
	RequestTrailerMode HeaderMode `json:"requestTrailerMode,omitempty"`
	// ResponseTrailerMode is for the trailers of responses.
	//
	// +kubebuilder:default=SKIP
	ResponseTrailerMode HeaderMode `json:"responseTrailerMode,omitempty"`
}

// RateLimitProvider counts requests for all Envoys, by envoy.service.ratelimit.v3.
type RateLimitProvider struct {
	// GRPCService is where the service answers.
	GRPCService GRPCService `json:"grpcService"`
	// Domain is the domain of Envoy's requests to the service. The service finds its limits by the domain.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Domain string `json:"domain"`
	// FailOpen lets requests pass while the service does not answer.
	//
	// +kubebuilder:default=true
	FailOpen *bool `json:"failOpen,omitempty"`
	// Timeout limits a call.
	//
	// +kubebuilder:default="100ms"
	Timeout *PositiveDuration `json:"timeout,omitempty"`
	// XRateLimitHeaders adds headers about the limit to responses.
	//
	// +kubebuilder:validation:Enum=Off;DraftVersion03
	// +kubebuilder:default="Off"
	XRateLimitHeaders *string `json:"xRateLimitHeaders,omitempty"`
}
