package api

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// CORS is the Gateway API's filter as a policy.
type CORS struct {
	// AllowOrigins are the origins that may send requests: scheme, host and port, or '*' for
	// all. '*' in place of the first labels of a host stands for any labels.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:message="'*' stands alone among allowOrigins",rule="!('*' in self && self.size() > 1)"
	// +listType=set
	AllowOrigins []gwv1.CORSOrigin `json:"allowOrigins,omitempty"`
	// AllowCredentials lets requests carry cookies and other credentials.
	AllowCredentials *bool `json:"allowCredentials,omitempty"`
	// AllowMethods are the methods that requests may have, or '*' for all.
	//
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:XValidation:message="'*' stands alone among allowMethods",rule="!('*' in self && self.size() > 1)"
	// +listType=set
	AllowMethods []gwv1.HTTPMethodWithWildcard `json:"allowMethods,omitempty"`
	// AllowHeaders are the headers that requests may have, or '*' for all.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:message="'*' stands alone among allowHeaders",rule="!('*' in self && self.size() > 1)"
	// +listType=set
	AllowHeaders []gwv1.HTTPHeaderName `json:"allowHeaders,omitempty"`
	// ExposeHeaders are the headers of responses that pages may read, or '*' for all.
	//
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	ExposeHeaders []gwv1.HTTPHeaderName `json:"exposeHeaders,omitempty"`
	// MaxAge is how many seconds a browser keeps the answer to a preflight request.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=5
	MaxAge int32 `json:"maxAge,omitempty"`
	// Disable turns off the cors that a policy of a higher level sets, for example a policy of the Gateway.
	Disable *Disable `json:"disable,omitempty"`
}

// Filter returns the Gateway API's filter.
func (c *CORS) Filter() *gwv1.HTTPCORSFilter {
	return &gwv1.HTTPCORSFilter{
		AllowOrigins: c.AllowOrigins, AllowCredentials: c.AllowCredentials, AllowMethods: c.AllowMethods,
		AllowHeaders: c.AllowHeaders, ExposeHeaders: c.ExposeHeaders, MaxAge: c.MaxAge,
	}
}

// CSRF requires that the origin of requests that change something is the host itself
// or one of AdditionalOrigins. At most one of the percentages is set.
//
// +kubebuilder:validation:XValidation:message="set percentageEnabled or percentageShadowed, not both",rule="!(has(self.percentageEnabled) && has(self.percentageShadowed))"
type CSRF struct {
	// PercentageEnabled is the share of requests that are checked; 100 when neither percentage
	// is set.
	PercentageEnabled *Percentage `json:"percentageEnabled,omitempty"`
	// PercentageShadowed is the share of requests that are checked and counted in Envoy's
	// statistics, and not rejected.
	PercentageShadowed *Percentage `json:"percentageShadowed,omitempty"`
	// AdditionalOrigins are accepted beside the host itself.
	//
	// +kubebuilder:validation:MaxItems=16
	AdditionalOrigins []StringMatch `json:"additionalOrigins,omitempty"`
}

// MatchText is a text to compare with.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
type MatchText = string

// StringMatch compares a text in one way: exactly one of exact, prefix, suffix, contains and
// safeRegex is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of exact, prefix, suffix, contains and safeRegex",rule="[has(self.exact), has(self.prefix), has(self.suffix), has(self.contains), has(self.safeRegex)].filter(x, x).size() == 1"
type StringMatch struct {
	// Exact matches a text that is equal to the given text.
	Exact *MatchText `json:"exact,omitempty"`
	// Prefix matches a text that begins with the given text.
	Prefix *MatchText `json:"prefix,omitempty"`
	// Suffix matches a text that ends with the given text.
	Suffix *MatchText `json:"suffix,omitempty"`
	// Contains matches a text that contains the given text.
	Contains *MatchText `json:"contains,omitempty"`
	// SafeRegex matches a whole text, as an RE2 regular expression.
	SafeRegex *MatchText `json:"safeRegex,omitempty"`
	// IgnoreCase compares without regard to upper and lower case. It has no effect on SafeRegex.
	IgnoreCase *bool `json:"ignoreCase,omitempty"`
}
