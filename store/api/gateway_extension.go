package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// GatewayExtension is a service that Envoy asks about requests. TrafficPolicies
// name it in extAuth, extProc and rateLimit.global.
type GatewayExtension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

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

// GatewayExtensionSpec holds exactly one of its services.
type GatewayExtensionSpec struct {
	// Type repeats which one it is; kgateway once asked for it.
	Type *string `json:"type,omitempty"`

	ExtAuth   *ExtAuthProvider   `json:"extAuth,omitempty"`
	ExtProc   *ExtProcProvider   `json:"extProc,omitempty"`
	RateLimit *RateLimitProvider `json:"rateLimit,omitempty"`
}

// GRPCService is where a service answers.
type GRPCService struct {
	// BackendRef is a Service or Backend, which is spoken to by HTTP/2. Its Weight
	// has no meaning.
	BackendRef gwv1.BackendRef `json:"backendRef"`
	// Authority is the cluster's name when it is not set.
	Authority *string `json:"authority,omitempty"`
	// RequestTimeout limits a call, for extProc the stream of a whole request.
	RequestTimeout *gwv1.Duration `json:"requestTimeout,omitempty"`
	Retry          *ServiceRetry  `json:"retry,omitempty"`
}

// ServiceRetry repeats calls that could not be answered.
type ServiceRetry struct {
	Attempts int32           `json:"attempts,omitempty"` // 1 by default
	Backoff  *ServiceBackoff `json:"backoff,omitempty"`
}

// ServiceBackoff is the wait between attempts, which grows up to MaxInterval, or 10
// times BaseInterval when it is not set.
type ServiceBackoff struct {
	BaseInterval gwv1.Duration  `json:"baseInterval"`
	MaxInterval  *gwv1.Duration `json:"maxInterval,omitempty"`
}

// ExtAuthProvider says whether a request may pass, by envoy.service.auth.v3.
type ExtAuthProvider struct {
	GRPCService GRPCService `json:"grpcService"`
	// HeadersToForward are those of the request that the service sees; all when
	// there are none.
	HeadersToForward []string `json:"headersToForward,omitempty"`
	// FailOpen lets requests pass while the service does not answer.
	FailOpen bool `json:"failOpen,omitempty"`
	// ClearRouteCache is false.
	ClearRouteCache bool         `json:"clearRouteCache,omitempty"`
	WithRequestBody *RequestBody `json:"withRequestBody,omitempty"`
	// StatusOnError answers while the service does not; 403 by default.
	StatusOnError int32   `json:"statusOnError,omitempty"`
	StatPrefix    *string `json:"statPrefix,omitempty"`
	// PercentageEnabled of the requests are asked about; all when it is not set.
	PercentageEnabled *int32 `json:"percentageEnabled,omitempty"`
}

// RequestBody lets the service see the body, which is held meanwhile.
type RequestBody struct {
	// MaxRequestBytes is the longest body; a longer one is answered with 413, or
	// sent as far as that with AllowPartialMessage.
	MaxRequestBytes     int32 `json:"maxRequestBytes"`
	AllowPartialMessage bool  `json:"allowPartialMessage,omitempty"`
	// PackAsBytes sends the body as bytes in place of UTF-8 text.
	PackAsBytes bool `json:"packAsBytes,omitempty"`
}

// ExtProcProvider sees and changes requests and answers, by
// envoy.service.ext_proc.v3.
type ExtProcProvider struct {
	GRPCService GRPCService `json:"grpcService"`
	// FailOpen lets requests pass while the service does not answer; true by default.
	FailOpen       *bool           `json:"failOpen,omitempty"`
	ProcessingMode *ProcessingMode `json:"processingMode,omitempty"`
	// AllowProcessingModeOverride lets the service change the mode for a request, to
	// one of AllowedProcessingModeOverrides where there are some.
	AllowProcessingModeOverride    bool             `json:"allowProcessingModeOverride,omitempty"`
	AllowedProcessingModeOverrides []ProcessingMode `json:"allowedProcessingModeOverrides,omitempty"`
	// MessageTimeout limits each message; 200ms when it is not set. The service may
	// ask for up to MaxMessageTimeout.
	MessageTimeout    *gwv1.Duration `json:"messageTimeout,omitempty"`
	MaxMessageTimeout *gwv1.Duration `json:"maxMessageTimeout,omitempty"`
	StatPrefix        *string        `json:"statPrefix,omitempty"`
	// RouteCacheAction is Retain.
	RouteCacheAction *string `json:"routeCacheAction,omitempty"`
}

// ProcessingMode says what of a request an ExtProcProvider sees: headers and
// trailers by DEFAULT, SEND or SKIP, bodies by NONE, STREAMED, BUFFERED,
// BUFFERED_PARTIAL or FULL_DUPLEX_STREAMED.
type ProcessingMode struct {
	RequestHeaderMode   string `json:"requestHeaderMode,omitempty"`
	ResponseHeaderMode  string `json:"responseHeaderMode,omitempty"`
	RequestBodyMode     string `json:"requestBodyMode,omitempty"`
	ResponseBodyMode    string `json:"responseBodyMode,omitempty"`
	RequestTrailerMode  string `json:"requestTrailerMode,omitempty"`
	ResponseTrailerMode string `json:"responseTrailerMode,omitempty"`
}

// RateLimitProvider counts requests for all Envoys, by envoy.service.ratelimit.v3.
type RateLimitProvider struct {
	GRPCService GRPCService `json:"grpcService"`
	// Domain names the limits inside the service.
	Domain string `json:"domain"`
	// FailOpen lets requests pass while the service does not answer; true by default.
	FailOpen *bool `json:"failOpen,omitempty"`
	// Timeout limits a call; 100ms by default.
	Timeout *gwv1.Duration `json:"timeout,omitempty"`
	// XRateLimitHeaders is Off or DraftVersion03.
	XRateLimitHeaders *string `json:"xRateLimitHeaders,omitempty"`
}
