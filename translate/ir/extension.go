package ir

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Extension is an external service, or the tokens that are accepted: exactly one of Auth,
// Processor, Limiter, SignIn and JWT is set. Envoy calls the service by HTTP for a SignIn and if
// Auth.HTTP is set, else by gRPC.
type Extension struct {
	Service   Service // not of JWT
	Auth      *AuthService
	Processor *ProcessorService
	Limiter   *LimitService
	SignIn    *SignIn
	JWT       *JWT
}

// Service is how Envoy calls an Extension.
type Service struct {
	// Cluster is the xDS cluster's name; it speaks HTTP/2, but for a SignIn and AuthService.HTTP.
	Cluster string
	// Authority is the :authority header; "" means the cluster's name.
	Authority string
	// Timeout limits a call; nil means Envoy's default.
	Timeout *time.Duration
	// Retry configures retries of failed calls; nil means none.
	Retry *ServiceRetry
}

// ServiceRetry is the number of retries, with a wait from Base to Max between them; 0 means
// Envoy's default.
type ServiceRetry struct {
	Attempts  uint32
	Base, Max time.Duration
}

// AuthService allows or denies requests.
type AuthService struct {
	FailOpen bool
	// StatusOnError is the answer while the service fails.
	StatusOnError uint32
	// Headers are the request headers that the service receives, in lower case; nil is all for
	// gRPC, and none but HTTPAuth.Receives for HTTP.
	Headers []string
	Body    *RequestBody
	// Percent of the requests are sent to the service.
	Percent    uint32
	StatPrefix string
	// HTTP is set if the service is asked by HTTP.
	HTTP *HTTPAuth
}

// HTTPAuth is how Envoy calls a service by HTTP, and what it uses of the answer. Names of headers
// are in lower case.
type HTTPAuth struct {
	// Prefix is put before the path of the request.
	Prefix string
	// Add are headers for the service. Their values are formats of Envoy.
	Add []Header
	// ToBackend are headers of an answer of 200 that the backend receives, in place of the
	// client's. AllToBackend is true if it receives all that may be copied.
	ToBackend    []string
	AllToBackend bool
	// ToClient are headers of a rejection that the client receives; nil is all.
	ToClient []string
	// OnSuccess are headers of an answer of 200 that the backend's response gets.
	OnSuccess []string
}

// Receives reports whether the service receives the client's header of a name, in lower case.
func (a *AuthService) Receives(name string) bool {
	return slices.Contains(a.Headers, name) || a.HTTP == nil && len(a.Headers) == 0 || a.HTTP != nil && name == "authorization"
}

// RequestBody is how much of a request body an AuthService receives.
type RequestBody struct {
	Max     uint32 // bytes
	Partial bool   // of a longer one the beginning; else it is answered with 413
	Bytes   bool   // as bytes, not as text
}

// ProcessorService changes requests and responses.
type ProcessorService struct {
	FailOpen bool
	Mode     *ProcessingMode
	// Chooses is true if the service may change the mode for a request. Choices, if set, are
	// the allowed modes.
	Chooses bool
	Choices []ProcessingMode
	// MessageTimeout limits a message. MaxMessageTimeout limits what the service may extend it
	// to. nil is not set.
	MessageTimeout    *time.Duration
	MaxMessageTimeout *time.Duration
	StatPrefix        string
}

// ProcessingMode holds Envoy's names of the modes, such as "SEND" and "BUFFERED".
type ProcessingMode struct {
	RequestHeaders, ResponseHeaders   string
	RequestBody, ResponseBody         string
	RequestTrailers, ResponseTrailers string
}

// LimitService counts requests.
type LimitService struct {
	Domain   string
	FailOpen bool
	Timeout  *time.Duration
	// Headers adds x-ratelimit-* headers to responses, with the limit and what is left.
	Headers bool
}

// ExtensionUse is a field of a policy that uses an Extension.
type ExtensionUse struct {
	// Field is the name of the policy's field, such as "extAuth".
	Field Field
	// Key is the key of the GatewayExtension.
	Key manifest.Key
	// Extension is nil until the rules have resolved it. In a route it is never nil.
	Extension *Extension
	// Filter is true if a filter of the route has the service, and no policy: Key is zero then.
	Filter bool
}

// PartKind returns the Kind of the Parts for this use.
func (u *ExtensionUse) PartKind() string {
	if u.Filter {
		return PartExternalAuth
	}
	return u.Field.PartKind()
}

// ExtAuth calls a service to allow or deny the request.
type ExtAuth struct {
	ExtensionUse
	// Body replaces the service's setting; nil keeps it.
	Body *RequestBody
	// Context is sent to the service.
	Context map[string]string
}

// ExtProc lets a service change the request and the response.
type ExtProc struct {
	ExtensionUse
	// Mode replaces the service's setting; nil keeps it.
	Mode *ProcessingMode
}

// GlobalLimit lets a service count the request.
type GlobalLimit struct {
	ExtensionUse
	// Descriptors are counted separately.
	Descriptors [][]LimitEntry
}

// LimitEntry is one entry of a descriptor: the value of Header (":path" for the path), the
// client's address, or Value. Key is its name, except for an address.
type LimitEntry struct {
	Key, Value string
	Header     string
	Address    bool
}

// Extensions returns the fields that use an Extension; none for nil.
func (e *Extras) Extensions() []*ExtensionUse {
	if e == nil {
		return nil
	}
	var out []*ExtensionUse
	if e.ExtAuth != nil {
		out = append(out, &e.ExtAuth.ExtensionUse)
	}
	if e.GlobalLimit != nil {
		out = append(out, &e.GlobalLimit.ExtensionUse)
	}
	if e.ExtProc != nil {
		out = append(out, &e.ExtProc.ExtensionUse)
	}
	if e.OAuth2 != nil {
		out = append(out, &e.OAuth2.ExtensionUse)
	}
	if e.JWTAuth != nil {
		out = append(out, &e.JWTAuth.ExtensionUse)
	}
	return out
}

// Field returns the name of the TrafficPolicy field that the Extension is for.
func (e *Extension) Field() Field {
	switch {
	case e.Auth != nil:
		return FieldExtAuth
	case e.Processor != nil:
		return FieldExtProc
	case e.SignIn != nil:
		return FieldOAuth2
	case e.JWT != nil:
		return FieldJWTAuth
	}
	return FieldGlobalRateLimit
}

// Clusters returns the clusters of the service, or of remote keys.
func (e *Extension) Clusters() (names []string) {
	if e.JWT == nil {
		return []string{e.Service.Cluster}
	}
	for _, p := range e.JWT.Providers {
		if p.Remote != nil {
			names = append(names, p.Remote.Cluster)
		}
	}
	return names
}

// Path returns the path of the service's settings inside the GatewayExtension.
func (e *Extension) Path() string {
	switch {
	case e.Limiter != nil:
		return "spec.rateLimit"
	case e.JWT != nil:
		return "spec.jwt"
	}
	return e.Field().Path()
}

// GRPC reports whether Envoy calls the service by gRPC.
func (e *Extension) GRPC() bool {
	return e.SignIn == nil && (e.Auth == nil || e.Auth.HTTP == nil)
}

// ServicePath returns the path of the reference to the service inside the GatewayExtension.
func (e *Extension) ServicePath() string {
	switch {
	case e.SignIn != nil:
		return e.Path() + ".backendRef"
	case e.Auth != nil && e.Auth.HTTP != nil:
		return e.Path() + ".httpService.backendRef"
	}
	return e.Path() + ".grpcService.backendRef"
}
