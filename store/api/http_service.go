package api

// HTTPService is a service that Envoy asks over HTTP whether a request may pass. The service gets
// the method, the path and headers of the request. If it answers 200, the request passes. Any
// other answer below 500 goes unchanged to the client, for example a redirect to a login.
type HTTPService struct {
	// BackendRef is the Service or Backend of the service.
	BackendRef BackendRef `json:"backendRef"`
	// PathPrefix is put before the path of the request, as it is.
	PathPrefix *AuthPath `json:"pathPrefix,omitempty"`
	// RequestTimeout limits a call with its retries; 2s when it is not set.
	RequestTimeout *PositiveDuration `json:"requestTimeout,omitempty"`
	// AuthorizationRequest changes what the service is sent.
	AuthorizationRequest *AuthorizationRequest `json:"authorizationRequest,omitempty"`
	// AuthorizationResponse says which headers of the answer are used.
	AuthorizationResponse *AuthorizationResponse `json:"authorizationResponse,omitempty"`
	// Retry repeats a call if the service does not answer, or if the status of its answer is 500 or
	// above.
	Retry *ServiceRetry `json:"retry,omitempty"`
}

// AuthPath is the beginning of a path.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:Pattern=`^/(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*$`
type AuthPath = string

// AuthorizationRequest changes what an HTTPService is sent.
type AuthorizationRequest struct {
	// HeadersToAdd are headers by name, which replace those of the client. A value may have
	// %REQ(NAME)% for a header of the request, also :path, :method and :authority,
	// %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% for the client's address, %PROTOCOL%, and %% for
	// a percent sign.
	//
	// +kubebuilder:validation:MaxProperties=64
	HeadersToAdd map[string]HeaderValue `json:"headersToAdd,omitempty"`
}

// AuthorizationResponse says which headers of an HTTPService's answer are used.
type AuthorizationResponse struct {
	// HeadersToBackend are headers that Envoy copies from an answer of 200 into the request to the
	// backend. The client's own headers of these names are always removed, even if the answer does
	// not have these headers.
	//
	// +kubebuilder:validation:MaxItems=64
	HeadersToBackend []HeaderName `json:"headersToBackend,omitempty"`
	// HeadersToClient are the headers that the client receives from an answer other than 200. The
	// client always receives Location, Set-Cookie, WWW-Authenticate and Content-Type. When the list
	// is empty, the client receives all headers.
	//
	// +kubebuilder:validation:MaxItems=64
	HeadersToClient []HeaderName `json:"headersToClient,omitempty"`
	// HeadersToClientOnSuccess are headers of an answer of 200 that are added to the
	// backend's response.
	//
	// +kubebuilder:validation:MaxItems=64
	HeadersToClientOnSuccess []HeaderName `json:"headersToClientOnSuccess,omitempty"`
}
