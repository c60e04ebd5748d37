package ir

import (
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Extension is a gRPC service that Envoy asks about requests: exactly one of
// Auth, Processor and Limiter is set.
type Extension struct {
	Service   Service
	Auth      *AuthService
	Processor *ProcessorService
	Limiter   *LimitService
}

// Service is where an Extension answers.
type Service struct {
	// Cluster is the xDS cluster's name; it speaks HTTP/2.
	Cluster string
	// Authority is "" for the cluster's name.
	Authority string
	// Timeout limits a call, nil is Envoy's own limit.
	Timeout *time.Duration
	// Retry repeats calls that could not be answered, nil is never.
	Retry *ServiceRetry
}

// ServiceRetry is at most Attempts more calls, with a wait from Base to Max; both
// are 0 for Envoy's own.
type ServiceRetry struct {
	Attempts  uint32
	Base, Max time.Duration
}

// AuthService allows or denies requests.
type AuthService struct {
	FailOpen bool
	// StatusOnError answers while the service does not.
	StatusOnError uint32
	// Headers are those that the service sees, nil is all.
	Headers []string
	Body    *RequestBody
	// Percent of the requests are asked about.
	Percent    uint32
	StatPrefix string
}

// RequestBody is how much of a body an AuthService sees.
type RequestBody struct {
	Max     uint32 // bytes
	Partial bool   // of a longer one the beginning; else it is answered with 413
	Bytes   bool   // as bytes, not as text
}

// ProcessorService changes requests and answers.
type ProcessorService struct {
	FailOpen bool
	Mode     *ProcessingMode
	// Chooses is true if the service may change the mode for a request, to one of
	// Choices where there are some.
	Chooses bool
	Choices []ProcessingMode
	// MessageTimeout limits a message, MaxMessageTimeout what the service may ask
	// for; nil is not set.
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
	// Headers adds x-ratelimit-* headers to answers: what is left to the client.
	Headers bool
}

// ExtensionUse is a field of a policy that needs an Extension.
type ExtensionUse struct {
	// Field is that of the policy, such as "extAuth".
	Field Field
	// Key is the GatewayExtension.
	Key manifest.Key
	// Extension is nil until the rules have looked it up; a route never has a nil one.
	Extension *Extension
}

// ExtAuth asks whether a request may pass.
type ExtAuth struct {
	ExtensionUse
	// Body stands in place of the service's, nil when it does not.
	Body *RequestBody
	// Context is told to the service.
	Context map[string]string
}

// ExtProc lets a service change the request and its answer.
type ExtProc struct {
	ExtensionUse
	// Mode stands in place of the service's, nil when it does not.
	Mode *ProcessingMode
}

// GlobalLimit lets a service count the request.
type GlobalLimit struct {
	ExtensionUse
	// Descriptors are counted apart.
	Descriptors [][]LimitEntry
}

// LimitEntry is one part of a descriptor: the value of Header (":path" for the
// path), the client's address, or Value. Key is its name but for an address.
type LimitEntry struct {
	Key, Value string
	Header     string
	Address    bool
}

// Extensions are the fields that need one; none for nil.
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
	return out
}

// Field returns the field of TrafficPolicies that the Extension is for.
func (e *Extension) Field() Field {
	switch {
	case e.Auth != nil:
		return FieldExtAuth
	case e.Processor != nil:
		return FieldExtProc
	}
	return FieldGlobalRateLimit
}

// Path returns the path of the service's settings inside the GatewayExtension.
func (e *Extension) Path() string {
	if e.Limiter != nil {
		return "spec.rateLimit"
	}
	return e.Field().Path()
}
