package api

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// JWTAuth asks clients for a token (JWT, RFC 7519). Exactly one of its fields is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of extensionRef and disable",rule="has(self.extensionRef) != has(self.disable)"
type JWTAuth struct {
	// ExtensionRef names a GatewayExtension that has the field jwt.
	ExtensionRef *ExtensionRef `json:"extensionRef,omitempty"`
	// Disable turns off the jwtAuth that a policy of a higher level sets, for example a policy of the Gateway.
	Disable *Disable `json:"disable,omitempty"`
}

// JWT says which tokens are accepted. A request needs only one valid token, from any of the providers.
type JWT struct {
	// ValidationMode says what happens to a request without a valid token. Strict rejects the request.
	// AllowMissing lets it pass if it has no token. AllowMissingOrFailed lets it pass in any case.
	//
	// +kubebuilder:validation:Enum=Strict;AllowMissing;AllowMissingOrFailed
	// +kubebuilder:default=Strict
	ValidationMode *string `json:"validationMode,omitempty"`
	// Providers issue tokens.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Providers []JWTProvider `json:"providers"`
}

// The validation modes of JWT.
const (
	AllowMissingToken         = "AllowMissing"
	AllowMissingOrFailedToken = "AllowMissingOrFailed"
)

// JWTProvider is who issues tokens, and how they are verified.
type JWTProvider struct {
	// Name is the name of the provider inside the extension.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Issuer is the value that the claim iss of a token must have. If it is not set, the claim may
	// have any value.
	//
	// +kubebuilder:validation:MaxLength=2048
	Issuer *string `json:"issuer,omitempty"`
	// Audiences are the accepted values of the claim aud. A token must have at least one of them. If
	// they are not set, the claim may have any value.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Audiences []JWTAudience `json:"audiences,omitempty"`
	// TokenSource is where a request has its token. If it is not set, the token follows the word
	// Bearer in the header Authorization.
	TokenSource *JWTTokenSource `json:"tokenSource,omitempty"`
	// ForwardToken sends the token to the backend, too.
	ForwardToken *bool `json:"forwardToken,omitempty"`
	// ClaimsToHeaders are headers that are sent to the backend with claims of the token. A client's
	// own headers of these names are removed.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=header
	ClaimsToHeaders []JWTClaimToHeader `json:"claimsToHeaders,omitempty"`
	// ClockSkew is by how much the clocks of provider and Envoy may differ, in whole seconds; 60s
	// when it is not set.
	//
	// +kubebuilder:validation:XValidation:message="must be at least 1s and at most 87600h",rule="duration(self) >= duration('1s') && duration(self) <= duration('87600h')"
	ClockSkew *Duration `json:"clockSkew,omitempty"`
	// Cache keeps tokens that were verified.
	Cache *JWTCache `json:"cache,omitempty"`
	// JWKS are the keys that tokens are signed with.
	JWKS JWKS `json:"jwks"`
}

// JWTAudience is who a token is for.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=2048
type JWTAudience = string

// JWTTokenSource is where a request has its token.
//
// +kubebuilder:validation:XValidation:message="set exactly one of header and queryParameter",rule="has(self.header) != has(self.queryParameter)"
type JWTTokenSource struct {
	// Header is a header with the token.
	Header *JWTHeaderSource `json:"header,omitempty"`
	// QueryParameter is the name of a parameter of the query. It needs ForwardToken: Envoy cannot
	// take the token out without decoding the other parameters.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	QueryParameter *string `json:"queryParameter,omitempty"`
}

// JWTHeaderSource is a header with a token.
type JWTHeaderSource struct {
	// Header is the name of the header.
	Header HeaderName `json:"header"`
	// Prefix is what stands before the token, such as "Bearer ".
	//
	// +kubebuilder:validation:MaxLength=256
	Prefix *string `json:"prefix,omitempty"`
}

// JWTClaimToHeader copies a claim into a header.
type JWTClaimToHeader struct {
	// Name is the name of the claim. For a claim inside another claim, it has both names with a dot
	// between them, such as address.city.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Name string `json:"name"`
	// Header is the name of the header.
	Header HeaderName `json:"header"`
	// Overwrite removes what a client wrote into the header. gatefold always does so.
	//
	// +kubebuilder:validation:Enum=true
	Overwrite *bool `json:"overwrite,omitempty"`
}

// JWTCache keeps tokens that were verified.
type JWTCache struct {
	// Size is how many tokens are kept; 100 when it is not set.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Size *int32 `json:"size,omitempty"`
	// MaxTokenSize is the size in bytes of the longest token that is kept; 4096 when it is not set.
	//
	// +kubebuilder:validation:Minimum=1
	MaxTokenSize *int32 `json:"maxTokenSize,omitempty"`
}

// JWKS are keys that tokens are signed with. Exactly one of its fields is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of local and remote",rule="has(self.local) != has(self.remote)"
type JWKS struct {
	// Local are keys in this folder.
	Local *LocalJWKS `json:"local,omitempty"`
	// Remote are keys that Envoy fetches from the provider.
	Remote *RemoteJWKS `json:"remote,omitempty"`
}

// LocalJWKS are keys in this folder: a JWKS, one JWK, or a public key as PEM. Exactly one of its fields
// is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of inline and configMapRef",rule="has(self.inline) != has(self.configMapRef)"
type LocalJWKS struct {
	// Inline has the keys.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Inline *string `json:"inline,omitempty"`
	// ConfigMapRef names a ConfigMap of the extension's namespace. Its entry jwks has the keys.
	ConfigMapRef *ConfigMapRef `json:"configMapRef,omitempty"`
}

// ConfigMapRef names a ConfigMap.
type ConfigMapRef struct {
	// Name is the name of the ConfigMap.
	Name gwv1.ObjectName `json:"name"`
}

// JWKSEntry is the name of the entry in a ConfigMap's data that has the keys for tokens (see LocalJWKS).
const JWKSEntry = "jwks"

// RemoteJWKS are keys that Envoy fetches from the provider.
type RemoteJWKS struct {
	// URL is the address of the keys. Envoy requests its path, with its host as the Host header, from
	// the BackendRef. The BackendRef also decides whether the connection uses TLS.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`
	// BackendRef is the Service or Backend that has the keys.
	BackendRef BackendRef `json:"backendRef"`
	// CacheDuration is how long keys are used before they are fetched again.
	//
	// +kubebuilder:default="5m"
	CacheDuration *PositiveDuration `json:"cacheDuration,omitempty"`
	// Timeout limits a fetch.
	//
	// +kubebuilder:default="5s"
	Timeout *PositiveDuration `json:"timeout,omitempty"`
	// AsyncFetch fetches the keys before a request needs them.
	AsyncFetch *JWKSAsyncFetch `json:"asyncFetch,omitempty"`
	// RetryPolicy repeats fetches that fail.
	RetryPolicy *JWKSRetryPolicy `json:"retryPolicy,omitempty"`
}

// JWKSAsyncFetch fetches keys before a request needs them.
type JWKSAsyncFetch struct {
	// FastListener lets a new listener serve requests before the first fetch is complete. It has no
	// effect: gatefold's listeners never wait for a fetch.
	FastListener *bool `json:"fastListener,omitempty"`
	// FailedRefetchDuration is the time to the next fetch after one that failed; 1s when it is not
	// set.
	FailedRefetchDuration *PositiveDuration `json:"failedRefetchDuration,omitempty"`
}

// JWKSRetryPolicy repeats fetches that fail.
type JWKSRetryPolicy struct {
	// NumRetries is how often a fetch is repeated.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	NumRetries *int32 `json:"numRetries,omitempty"`
	// BackOff is the time between attempts.
	BackOff *ServiceBackoff `json:"backOff,omitempty"`
}
