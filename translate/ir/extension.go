package ir

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Extension is a GatewayExtension: an external service, an identity provider (SignIn), or the tokens that are
// accepted (JWT). Exactly one of Auth, Processor, Limiter, SignIn and JWT is set. Envoy calls Service by HTTP if
// SignIn or Auth.HTTP is set, and otherwise by gRPC.
type Extension struct {
	Service   Service // not used for JWT
	Auth      *AuthService
	Processor *ProcessorService
	Limiter   *LimitService
	SignIn    *SignIn
	JWT       *JWT
}

// Service is how Envoy calls an Extension.
type Service struct {
	// Cluster is the name of the xDS cluster. Envoy calls most services by gRPC, so the cluster's protocol is HTTP/2.
	// For a SignIn, and for an AuthService whose field HTTP is set, the backend's appProtocol decides.
	Cluster string
	// Authority is the :authority header. "" means the name of the cluster.
	Authority string
	// Timeout limits a call; nil means Envoy's default.
	Timeout *time.Duration
	// Retry configures retries of failed calls; nil means none.
	Retry *ServiceRetry
}

// ServiceRetry configures retries of failed calls.
type ServiceRetry struct {
	Attempts uint32 // the number of retries
	// Envoy waits a random time before each retry, but not longer than a limit. The limit is Base before the first
	// retry, and then grows up to Max. If Max is 0, the limit grows up to ten times Base. If Base is 0, Envoy's default
	// limits apply, and Max has no effect. For an AuthService by HTTP, however, gatefold then uses a Base of its own,
	// and Max has an effect.
	Base, Max time.Duration
}

// AuthService is an external service that allows or denies requests.
type AuthService struct {
	FailOpen bool
	// StatusOnError is the status of the answer if the service fails and FailOpen is false.
	StatusOnError uint32
	// Headers are the client's headers that the service receives, in lower case. If it is nil, a gRPC service
	// receives all headers; for an HTTP service see Receives.
	Headers []string
	Body    *RequestBody
	// Percent is the percentage of the requests that are sent to the service.
	Percent    uint32
	StatPrefix string
	// HTTP is set if Envoy calls the service by HTTP.
	HTTP *HTTPAuth
}

// HTTPAuth is how Envoy calls a service by HTTP, and which headers of the answer it uses. Names of headers are
// in lower case.
type HTTPAuth struct {
	// Prefix is added at the beginning of the request's path.
	Prefix string
	// Add are headers that Envoy adds to the request to the service. Their values are format strings of Envoy.
	Add []Header
	// ToBackend are headers of an answer with 200. They replace the client's headers in the request to the
	// backend. If AllToBackend is true, every header of the answer replaces the client's, except those that a
	// service must not change.
	ToBackend    []string
	AllToBackend bool
	// ToClient are headers of an answer that rejects the request. The client receives them, and in any case the
	// headers that a login needs. nil means that the client receives all headers.
	ToClient []string
	// OnSuccess are headers of an answer with 200. They are added to the backend's response.
	OnSuccess []string
}

// Receives reports whether the service receives the header with this name from the client's request. The parameter
// name is in lower case. The service receives all headers in the field Headers. If Headers is empty, a gRPC
// service receives every header. An HTTP service always receives authorization.
func (a *AuthService) Receives(name string) bool {
	return slices.Contains(a.Headers, name) || a.HTTP == nil && len(a.Headers) == 0 || a.HTTP != nil && name == "authorization"
}

// RequestBody is how much of a request body an AuthService receives, and in which form.
type RequestBody struct {
	Max     uint32 // bytes
	Partial bool   // send the beginning of a longer body; otherwise answer 413
	Bytes   bool   // send bytes, not text
}

// ProcessorService is an external service that changes requests and responses.
type ProcessorService struct {
	FailOpen bool
	Mode     *ProcessingMode
	// Chooses is true if the service may change the mode for a request. Choices are the modes that it may choose;
	// nil means all modes.
	Chooses bool
	Choices []ProcessingMode
	// MessageTimeout limits the time for one message. MaxMessageTimeout is the largest timeout that the service
	// may request. nil means not set.
	MessageTimeout    *time.Duration
	MaxMessageTimeout *time.Duration
	StatPrefix        string
}

// ProcessingMode has Envoy's names of the modes, for example "SEND" and "BUFFERED".
type ProcessingMode struct {
	RequestHeaders, ResponseHeaders   string
	RequestBody, ResponseBody         string
	RequestTrailers, ResponseTrailers string
}

// LimitService is an external service that counts requests.
type LimitService struct {
	Domain   string
	FailOpen bool
	Timeout  *time.Duration
	// Headers is true if responses get x-ratelimit-* headers, with the limit and the remaining requests.
	Headers bool
}

// ExtensionUse is a reference to an Extension, from a field of a policy or from the filter ExternalAuth of a
// route.
type ExtensionUse struct {
	// Field is the policy's field, for example "extAuth". For the filter ExternalAuth it is "extAuth", too.
	Field Field
	// Key is the key of the GatewayExtension. It is zero if Filter is true.
	Key manifest.Key
	// Extension is nil until the rules of translate have resolved Key. In a route it is never nil.
	Extension *Extension
	// Filter is true if a filter of the route, and not a policy, names the service.
	Filter bool
}

// PartKind returns the value of Part.Kind (the kind of a setting) for the policy field or filter that refers to
// the Extension.
func (u *ExtensionUse) PartKind() string {
	if u.Filter {
		return PartExternalAuth
	}
	return u.Field.PartKind()
}

// ExtAuth calls an external service that allows or denies the request.
type ExtAuth struct {
	ExtensionUse
	// Body replaces the setting of the service. nil keeps that setting.
	Body *RequestBody
	// Context are values that a gRPC service receives with each request. A service by HTTP does not get them.
	Context map[string]string
}

// ExtProc lets an external service change the request and the response.
type ExtProc struct {
	ExtensionUse
	// Mode replaces the setting of the service. nil keeps that setting.
	Mode *ProcessingMode
}

// GlobalLimit lets an external service count the request.
type GlobalLimit struct {
	ExtensionUse
	// Descriptors are what the service counts, each separately. Each descriptor is a list of entries.
	Descriptors [][]LimitEntry
}

// LimitEntry is one entry of a descriptor: a key and a value. If Address is true, the value is the address of the
// client. If Header is set, the value is the value of this request header. Otherwise the value is Value.
type LimitEntry struct {
	Key, Value string // Key is "" if Address is true
	Header     string // ":path" is the path
	Address    bool
}

// Extensions returns the fields that use an Extension. It returns nil if e is nil or has none.
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

// Field returns the name of the TrafficPolicy field that uses the Extension.
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

// Clusters returns the names of the clusters to which Envoy sends calls for the Extension: the cluster of the
// service or, for JWT, the clusters from which Envoy fetches remote keys. It returns nil for JWT without remote
// keys.
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

// GRPC reports whether Envoy calls the service by gRPC. The result has no meaning for JWT, which has no service.
func (e *Extension) GRPC() bool {
	return e.SignIn == nil && (e.Auth == nil || e.Auth.HTTP == nil)
}

// ServicePath returns the path of the backendRef inside the GatewayExtension, such as
// spec.extAuth.grpcService.backendRef. The backendRef names the service that Envoy calls. ServicePath must not be
// called for JWT, which has no service.
func (e *Extension) ServicePath() string {
	switch {
	case e.SignIn != nil:
		return e.Path() + ".backendRef"
	case e.Auth != nil && e.Auth.HTTP != nil:
		return e.Path() + ".httpService.backendRef"
	}
	return e.Path() + ".grpcService.backendRef"
}
