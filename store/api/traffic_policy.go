package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The annotations that order TrafficPolicies.
const (
	// AnnotationPolicyPriority on a route says how its policies meet those of the
	// routes that it delegates to.
	AnnotationPolicyPriority = "kgateway.dev/inherited-policy-priority"
	// AnnotationPolicyWeight on a policy puts it before others of equal standing:
	// an integer, higher first, 0 when it is not written.
	AnnotationPolicyWeight = "kgateway.dev/policy-weight"
)

// TrafficPolicy adds behaviour to the routes that it targets, or that name it in
// an ExtensionRef filter. Every field of its spec but TargetRefs is a policy of
// its own: package translate/policy merges them one by one.
type TrafficPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrafficPolicySpec `json:"spec"`
}

// TrafficPolicySpec holds what is set; nil fields leave things as they are.
type TrafficPolicySpec struct {
	// TargetRefs are at most 16, in the policy's namespace.
	TargetRefs []PolicyTarget `json:"targetRefs,omitempty"`
	// TargetSelectors select objects in the policy's namespace by their labels.
	TargetSelectors []PolicySelector `json:"targetSelectors,omitempty"`

	Transformation  *Transformation  `json:"transformation,omitempty"`
	ExtAuth         *ExtAuth         `json:"extAuth,omitempty"`
	ExtProc         *ExtProc         `json:"extProc,omitempty"`
	RateLimit       *RateLimit       `json:"rateLimit,omitempty"`
	CORS            *CORS            `json:"cors,omitempty"`
	CSRF            *CSRF            `json:"csrf,omitempty"`
	HeaderModifiers *HeaderModifiers `json:"headerModifiers,omitempty"`
	// AutoHostRewrite sends the DNS name of the chosen endpoint as Host.
	AutoHostRewrite *bool     `json:"autoHostRewrite,omitempty"`
	Buffer          *Buffer   `json:"buffer,omitempty"`
	Timeouts        *Timeouts `json:"timeouts,omitempty"`
	Retry           *Retry    `json:"retry,omitempty"`
	// HashPolicies choose the endpoint where the load balancer goes by hash.
	HashPolicies []HashPolicy `json:"hashPolicies,omitempty"`
}

// PolicyTarget names what a policy is for.
type PolicyTarget struct {
	Group gwv1.Group      `json:"group"`
	Kind  gwv1.Kind       `json:"kind"`
	Name  gwv1.ObjectName `json:"name"`
	// SectionName is a rule of a route or a listener of a Gateway or ListenerSet.
	SectionName *gwv1.SectionName `json:"sectionName,omitempty"`
}

// PolicySelector selects the objects of a kind that have all of MatchLabels.
type PolicySelector struct {
	Group       gwv1.Group        `json:"group"`
	Kind        gwv1.Kind         `json:"kind"`
	MatchLabels map[string]string `json:"matchLabels"`
	// SectionName is a rule of a route or a listener of a Gateway or ListenerSet.
	SectionName *gwv1.SectionName `json:"sectionName,omitempty"`
}

// Transformation changes headers by templates, such as {{ header("x") }}.
type Transformation struct {
	Request  *Transform `json:"request,omitempty"`
	Response *Transform `json:"response,omitempty"`
}

// Transform is one direction of a Transformation.
type Transform struct {
	Set    []HeaderTemplate `json:"set,omitempty"`
	Add    []HeaderTemplate `json:"add,omitempty"`
	Remove []string         `json:"remove,omitempty"`
	// Body is not supported yet; package translate/policy says so.
	Body *BodyTransform `json:"body,omitempty"`
}

// HeaderTemplate is a header and the template of its value.
type HeaderTemplate struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// BodyTransform parses or replaces a body.
type BodyTransform struct {
	ParseAs *string `json:"parseAs,omitempty"`
	Value   *string `json:"value,omitempty"`
}

// RateLimit limits requests. Its parts are merged apart.
type RateLimit struct {
	Local  *LocalRateLimit  `json:"local,omitempty"`
	Global *GlobalRateLimit `json:"global,omitempty"`
}

// LocalRateLimit is counted by each Envoy for itself, and for each match of a
// route's rule.
type LocalRateLimit struct {
	// TokenBucket nil is no limit.
	TokenBucket *TokenBucket `json:"tokenBucket,omitempty"`
	// PercentEnabled and PercentEnforced are 100 when they are not set.
	PercentEnabled  *int32 `json:"percentEnabled,omitempty"`
	PercentEnforced *int32 `json:"percentEnforced,omitempty"`
}

// TokenBucket holds MaxTokens at first; each request takes one.
type TokenBucket struct {
	MaxTokens     int32  `json:"maxTokens"`
	TokensPerFill *int32 `json:"tokensPerFill,omitempty"`
	// FillInterval is at least 50ms.
	FillInterval gwv1.Duration `json:"fillInterval"`
}

// CORS is the Gateway API's filter as a policy.
type CORS struct {
	gwv1.HTTPCORSFilter `json:",inline"`
	// Disable takes back what a policy from above has set.
	Disable *Disable `json:"disable,omitempty"`
}

// Disable is an empty object: that it is there is what counts.
type Disable struct{}

// CSRF wants the origin of requests that change something to be the host itself
// or one of AdditionalOrigins. At most one of the percentages is set.
type CSRF struct {
	PercentageEnabled  *int32        `json:"percentageEnabled,omitempty"`
	PercentageShadowed *int32        `json:"percentageShadowed,omitempty"`
	AdditionalOrigins  []StringMatch `json:"additionalOrigins,omitempty"`
}

// StringMatch has exactly one way to compare set.
type StringMatch struct {
	Exact      *string `json:"exact,omitempty"`
	Prefix     *string `json:"prefix,omitempty"`
	Suffix     *string `json:"suffix,omitempty"`
	Contains   *string `json:"contains,omitempty"`
	SafeRegex  *string `json:"safeRegex,omitempty"`
	IgnoreCase *bool   `json:"ignoreCase,omitempty"`
}

// HeaderModifiers are plain changes of headers, without templates.
type HeaderModifiers struct {
	Request  *gwv1.HTTPHeaderFilter `json:"request,omitempty"`
	Response *gwv1.HTTPHeaderFilter `json:"response,omitempty"`
}

// Buffer reads a whole request before it is passed on; one that is larger than
// MaxRequestSize (in bytes, under 4 GiB) is answered with 413.
type Buffer struct {
	MaxRequestSize *resource.Quantity `json:"maxRequestSize,omitempty"`
	Disable        *Disable           `json:"disable,omitempty"`
}

// Timeouts limit a request; 0s is no limit.
type Timeouts struct {
	Request    *gwv1.Duration `json:"request,omitempty"`
	StreamIdle *gwv1.Duration `json:"streamIdle,omitempty"`
}

// Retry repeats attempts that fail by one of RetryOn or StatusCodes.
type Retry struct {
	RetryOn []string `json:"retryOn,omitempty"`
	// Attempts is 1 when it is not set; 0 turns retries off.
	Attempts            *int32         `json:"attempts,omitempty"`
	PerTryTimeout       *gwv1.Duration `json:"perTryTimeout,omitempty"`
	StatusCodes         []int32        `json:"statusCodes,omitempty"`
	BackoffBaseInterval *gwv1.Duration `json:"backoffBaseInterval,omitempty"`
}

// HashPolicy is one source of a request's hash: exactly one is set.
type HashPolicy struct {
	Header   *HashHeader `json:"header,omitempty"`
	Cookie   *HashCookie `json:"cookie,omitempty"`
	SourceIP *HashSource `json:"sourceIP,omitempty"`
	// Terminal ends the list where this source gave a hash.
	Terminal *bool `json:"terminal,omitempty"`
}

// HashHeader hashes a request header.
type HashHeader struct {
	Name string `json:"name"`
}

// HashCookie hashes a cookie, and sets it where TTL is written.
type HashCookie struct {
	Name     string         `json:"name"`
	Path     *string        `json:"path,omitempty"`
	TTL      *gwv1.Duration `json:"ttl,omitempty"`
	Secure   *bool          `json:"secure,omitempty"`
	HTTPOnly *bool          `json:"httpOnly,omitempty"`
	SameSite *string        `json:"sameSite,omitempty"`
}

// HashSource hashes the client's address.
type HashSource struct{}
