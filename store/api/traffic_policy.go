package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The annotations that order TrafficPolicies.
const (
	// AnnotationPolicyPriority is for a delegating route. It says which policy wins if a
	// policy of this route and a policy of a child route set the same field.
	AnnotationPolicyPriority = "kgateway.dev/inherited-policy-priority"
	// AnnotationPolicyWeight is for a policy. Its value is an integer, 0 if it is not set. If
	// several policies for the same target set the same field, the highest weight wins.
	AnnotationPolicyWeight = "kgateway.dev/policy-weight"
)

// TrafficPolicy adds behavior to the routes that it targets, or that name it in an
// ExtensionRef filter. Each field of the spec except the targets is a policy of its own:
// several policies can set different fields for one route.
type TrafficPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec holds the targets and the behavior.
	Spec TrafficPolicySpec `json:"spec"`
}

// TrafficPolicySpec holds the targets of a policy, and what the policy sets for them. A field
// that is not set changes nothing.
//
// +kubebuilder:validation:XValidation:message="autoHostRewrite is for HTTPRoutes only",rule="!has(self.autoHostRewrite) || !has(self.targetRefs) || self.targetRefs.all(r, r.kind == 'HTTPRoute')"
// +kubebuilder:validation:XValidation:message="autoHostRewrite is for HTTPRoutes",rule="!has(self.autoHostRewrite) || !has(self.targetSelectors) || self.targetSelectors.all(r, r.kind == 'HTTPRoute')"
// +kubebuilder:validation:XValidation:message="retry.perTryTimeout must not be more than timeouts.request",rule="!has(self.retry) || !has(self.timeouts) || !has(self.retry.perTryTimeout) || !has(self.timeouts.request) || duration(self.timeouts.request) == duration('0s') || duration(self.retry.perTryTimeout) <= duration(self.timeouts.request)"
type TrafficPolicySpec struct {
	// TargetRefs are routes, Gateways and ListenerSets in the policy's namespace.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	TargetRefs []PolicyTarget `json:"targetRefs,omitempty"`
	// TargetSelectors select objects in the policy's namespace by their labels.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	TargetSelectors []PolicySelector `json:"targetSelectors,omitempty"`

	// Transformation changes headers by templates.
	Transformation *Transformation `json:"transformation,omitempty"`
	// ACL admits and rejects requests and connections by the address of the client.
	ACL *ACL `json:"acl,omitempty"`
	// RBAC admits or rejects requests by expressions and by the address of the client.
	RBAC *RBAC `json:"rbac,omitempty"`
	// ExtAuth has an external service decide whether requests may pass.
	ExtAuth *ExtAuth `json:"extAuth,omitempty"`
	// ExtProc lets an external service change requests and responses.
	ExtProc *ExtProc `json:"extProc,omitempty"`
	// BasicAuth asks clients for a name and a password.
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
	// APIKeyAuth asks clients for a key.
	APIKeyAuth *KeyAuth `json:"apiKeyAuth,omitempty"`
	// OAuth2 has users sign in at an identity provider.
	OAuth2 *OAuth2 `json:"oauth2,omitempty"`
	// JWTAuth asks clients for a token.
	JWTAuth *JWTAuth `json:"jwtAuth,omitempty"`
	// RateLimit limits requests.
	RateLimit *RateLimit `json:"rateLimit,omitempty"`
	// CORS says which origins browsers may send requests from.
	CORS *CORS `json:"cors,omitempty"`
	// CSRF rejects requests that a page of another origin made a browser send.
	CSRF *CSRF `json:"csrf,omitempty"`
	// HeaderModifiers change headers, without templates.
	HeaderModifiers *HeaderModifiers `json:"headerModifiers,omitempty"`
	// AutoHostRewrite sends the DNS name of the chosen endpoint as Host. It is for HTTPRoutes
	// only.
	AutoHostRewrite *bool `json:"autoHostRewrite,omitempty"`
	// Buffer reads a whole request before Envoy sends it to the backend.
	Buffer *Buffer `json:"buffer,omitempty"`
	// Timeouts limit how long a request takes.
	Timeouts *Timeouts `json:"timeouts,omitempty"`
	// Retry repeats requests that fail.
	Retry *Retry `json:"retry,omitempty"`
	// HashPolicies choose the endpoint where the load balancer goes by hash.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	HashPolicies []HashPolicy `json:"hashPolicies,omitempty"`
}

// PolicyTarget names what a policy is for.
type PolicyTarget struct {
	// Group is the API group of the target.
	//
	// +kubebuilder:validation:Enum=gateway.networking.k8s.io
	Group gwv1.Group `json:"group"`
	// Kind is the kind of the target. A policy for a TCPRoute, TLSRoute or UDPRoute can set
	// only acl.
	//
	// +kubebuilder:validation:Enum=HTTPRoute;Gateway;GRPCRoute;ListenerSet;TCPRoute;TLSRoute;UDPRoute
	Kind gwv1.Kind `json:"kind"`
	// Name is the name of the target.
	Name gwv1.ObjectName `json:"name"`
	// SectionName is a rule of a route or a listener of a Gateway or ListenerSet. The policy
	// is for the whole target when it is not set.
	SectionName *gwv1.SectionName `json:"sectionName,omitempty"`
}

// PolicySelector selects the objects of a kind that have all of MatchLabels.
type PolicySelector struct {
	// Group is the API group of the targets.
	//
	// +kubebuilder:validation:Enum=gateway.networking.k8s.io
	Group gwv1.Group `json:"group"`
	// Kind is the kind of the targets. A policy for TCPRoutes, TLSRoutes or UDPRoutes can set
	// only acl.
	//
	// +kubebuilder:validation:Enum=HTTPRoute;Gateway;GRPCRoute;ListenerSet;TCPRoute;TLSRoute;UDPRoute
	Kind gwv1.Kind `json:"kind"`
	// MatchLabels are the labels that an object must have, all of them.
	MatchLabels map[string]string `json:"matchLabels"`
	// SectionName is a rule of a route or a listener of a Gateway or ListenerSet. The policy
	// is for the whole targets when it is not set.
	SectionName *gwv1.SectionName `json:"sectionName,omitempty"`
}

// Transformation changes headers by templates, such as {{ header("x") }}.
type Transformation struct {
	// Request changes the headers of requests.
	Request *Transform `json:"request,omitempty"`
	// Response changes the headers of responses.
	Response *Transform `json:"response,omitempty"`
}

// Transform is one direction of a Transformation.
type Transform struct {
	// Set replaces the values of headers.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Set []HeaderTemplate `json:"set,omitempty"`
	// Add adds values to headers.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Add []HeaderTemplate `json:"add,omitempty"`
	// Remove removes headers.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Remove []RemovedHeader `json:"remove,omitempty"`
	// Body is not supported yet.
	Body *BodyTransform `json:"body,omitempty"`
}

// HeaderTemplate is a header and the template of its value.
type HeaderTemplate struct {
	// Name is the name of the header. Pseudo-headers, such as :path, cannot be changed.
	Name AnyHeaderName `json:"name"`
	// Value is plain text with templates, such as {{ header("x") }}.
	//
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`
}

// BodyTransform parses or replaces a body. It is not supported yet; package
// translate/policy reports it.
type BodyTransform struct {
	// ParseAs says what the body is.
	//
	// +kubebuilder:validation:Enum=AsString;AsJson;None
	ParseAs *string `json:"parseAs,omitempty"`
	// Value is the template of the new body.
	Value *string `json:"value,omitempty"`
}

// RateLimit limits requests. Local and global are merged independently: one policy can set
// local, and another policy can set global for the same route.
type RateLimit struct {
	// Local is counted by each Envoy for itself.
	Local *LocalRateLimit `json:"local,omitempty"`
	// Global is counted by an external service for all Envoys together.
	Global *GlobalRateLimit `json:"global,omitempty"`
}

// LocalRateLimit is a limit that each Envoy counts for itself. Each match of a route's rule
// has a count of its own.
type LocalRateLimit struct {
	// TokenBucket is the limit; there is none when it is not set.
	TokenBucket *TokenBucket `json:"tokenBucket,omitempty"`
	// PercentEnabled is the share of requests that are counted; 100 when it is not set.
	PercentEnabled *Percentage `json:"percentEnabled,omitempty"`
	// PercentEnforced is the share of requests over the limit that Envoy rejects; 100 when it
	// is not set.
	PercentEnforced *Percentage `json:"percentEnforced,omitempty"`
}

// TokenBucket holds MaxTokens at first; each request takes one.
type TokenBucket struct {
	// MaxTokens is the highest number of tokens, and the number at first.
	//
	// +kubebuilder:validation:Minimum=1
	MaxTokens int32 `json:"maxTokens"`
	// TokensPerFill is how many tokens each FillInterval adds.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	TokensPerFill *int32 `json:"tokensPerFill,omitempty"`
	// FillInterval is the time between two fills, at least 50ms.
	//
	// +kubebuilder:validation:XValidation:message="must be at least 50ms",rule="duration(self) >= duration('50ms')"
	FillInterval Duration `json:"fillInterval"`
}

// HeaderModifiers are plain changes of headers, without templates.
//
// +kubebuilder:validation:XValidation:message="set request or response",rule="has(self.request) || has(self.response)"
type HeaderModifiers struct {
	// Request changes the headers of requests.
	Request *HeaderFilter `json:"request,omitempty"`
	// Response changes the headers of responses.
	Response *HeaderFilter `json:"response,omitempty"`
}

// HeaderFilter is one direction of HeaderModifiers.
type HeaderFilter struct {
	// Set replaces the values of headers.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Set []Header `json:"set,omitempty"`
	// Add adds values to headers.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Add []Header `json:"add,omitempty"`
	// Remove removes headers.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Remove []RemovedHeader `json:"remove,omitempty"`
}

// Header is a header and its value.
type Header struct {
	// Name is the name of the header.
	Name HeaderName `json:"name"`
	// Value is the value of the header.
	Value HeaderValue `json:"value"`
}

// Buffer reads a whole request before Envoy sends it on. Exactly one of MaxRequestSize and
// Disable is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of maxRequestSize and disable",rule="has(self.maxRequestSize) != has(self.disable)"
type Buffer struct {
	// MaxRequestSize is the longest body in bytes, such as 65536, 64Ki or 1.5M, less than 4Gi.
	// Envoy answers 413 to a longer one.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:message="maxRequestSize must be a number of bytes of more than 0 and less than 4Gi, such as 65536, 64Ki or 1.5M",rule="type(self) == int ? int(self) > 0 && int(self) < 4294967296 : string(self).size() <= 20 && string(self).matches('^[+]?[0-9]+([.][0-9]*)?(k|M|G|Ki|Mi|Gi|[eE][0-9]{1,2})?$') && quantity(string(self)).isGreaterThan(quantity('0')) && quantity(string(self)).isLessThan(quantity('4Gi'))"
	MaxRequestSize *resource.Quantity `json:"maxRequestSize,omitempty"`
	// Disable turns off the buffer that a policy of a higher level sets, for example a policy of the Gateway.
	Disable *Disable `json:"disable,omitempty"`
}

// Timeouts limit a request; 0s is no limit.
type Timeouts struct {
	// Request limits the time until the whole response has arrived; 0s is no limit.
	Request *Duration `json:"request,omitempty"`
	// StreamIdle limits the time without data in either direction; 0s is no limit.
	StreamIdle *Duration `json:"streamIdle,omitempty"`
}

// RetryCondition is a kind of failure. After such a failure, Envoy sends the request again.
//
// +kubebuilder:validation:Enum="5xx";"gateway-error";reset;"reset-before-request";"connect-failure";"envoy-ratelimited";"retriable-4xx";"refused-stream";"retriable-status-codes";"http3-post-connect-failure";cancelled;"deadline-exceeded";internal;"resource-exhausted";unavailable
type RetryCondition = string

// RetryStatusCode is a status code. If a response has it, Envoy sends the request again.
//
// +kubebuilder:validation:Minimum=400
// +kubebuilder:validation:Maximum=599
type RetryStatusCode = int32

// Retry sends a request again if an attempt fails in a way that RetryOn names, or if the
// response has one of StatusCodes.
//
// +kubebuilder:validation:XValidation:message="retryOn or statusCodes must be set",rule="has(self.retryOn) || has(self.statusCodes)"
type Retry struct {
	// RetryOn are kinds of failures, in the words of Envoy.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	RetryOn []RetryCondition `json:"retryOn,omitempty"`
	// Attempts is how often a request is repeated; 0 turns retries off.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	Attempts *int32 `json:"attempts,omitempty"`
	// PerTryTimeout limits each attempt.
	PerTryTimeout *PositiveDuration `json:"perTryTimeout,omitempty"`
	// StatusCodes are status codes after which Envoy sends the request again.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	StatusCodes []RetryStatusCode `json:"statusCodes,omitempty"`
	// BackoffBaseInterval is the time before the first repetition. The time grows with each
	// further repetition.
	//
	// +kubebuilder:default="25ms"
	BackoffBaseInterval *PositiveDuration `json:"backoffBaseInterval,omitempty"`
}

// HashPolicy is one source of a request's hash. Exactly one of Header, Cookie and SourceIP
// is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of header, cookie and sourceIP",rule="[has(self.header), has(self.cookie), has(self.sourceIP)].filter(x, x).size() == 1"
type HashPolicy struct {
	// Header hashes a request header.
	Header *HashHeader `json:"header,omitempty"`
	// Cookie hashes a cookie.
	Cookie *HashCookie `json:"cookie,omitempty"`
	// SourceIP hashes the client's address.
	SourceIP *HashSource `json:"sourceIP,omitempty"`
	// Terminal ends the list when this source returns a hash.
	Terminal *bool `json:"terminal,omitempty"`
}

// HashHeader hashes a request header.
type HashHeader struct {
	// Name is the name of the header.
	Name HeaderName `json:"name"`
}

// HashCookie hashes a cookie, and sets it if TTL is set.
type HashCookie struct {
	// Name is the name of the cookie.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// Path is the path of a cookie that Envoy sets.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Path *string `json:"path,omitempty"`
	// TTL is the lifetime of the cookie. If TTL is set, Envoy sets the cookie for clients that
	// do not have it. 0s means that the cookie ends with the session of the browser.
	TTL *Duration `json:"ttl,omitempty"`
	// Secure sets the attribute Secure of a cookie that Envoy sets.
	Secure *bool `json:"secure,omitempty"`
	// HTTPOnly sets the attribute HttpOnly of a cookie that Envoy sets.
	HTTPOnly *bool `json:"httpOnly,omitempty"`
	// SameSite is the attribute SameSite of a cookie that Envoy sets.
	//
	// +kubebuilder:validation:Enum=Strict;Lax;None
	SameSite *string `json:"sameSite,omitempty"`
}

// HashSource hashes the client's address.
type HashSource struct{}
