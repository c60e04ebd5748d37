package api

import (
	"fmt"
	"time"
)

// The types of this file are shared by the fields of several kinds, so that their bounds
// are written once.

// Duration is a duration of the Gateway API (GEP-2257), such as 500ms, 10s or 1m30s.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
type Duration string

// PositiveDuration is a Duration above zero.
//
// +kubebuilder:validation:XValidation:message="must be at least 1ms",rule="duration(self) >= duration('1ms')"
type PositiveDuration Duration

// KeepAliveDuration is a Duration that Linux accepts for TCP keepalive.
//
// +kubebuilder:validation:XValidation:message="must be at least 1s and at most 32767s",rule="duration(self) >= duration('1s') && duration(self) <= duration('32767s')"
type KeepAliveDuration Duration

// ParseDuration returns the value of a duration of this package or of the Gateway API. The
// duration has passed the schema, so it cannot fail. It returns nil for nil.
func ParseDuration[D ~string](d *D) *time.Duration {
	if d == nil {
		return nil
	}
	parsed, err := time.ParseDuration(string(*d))
	if err != nil {
		panic(fmt.Sprintf("api: duration %q passed the schema: %v", *d, err))
	}
	return &parsed
}

// Percentage is a whole number of percent.
//
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=100
type Percentage = int32

// StatusCode is the status code of an HTTP response.
//
// +kubebuilder:validation:Minimum=100
// +kubebuilder:validation:Maximum=599
type StatusCode = int32

// HeaderName is the name of an HTTP header.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$`
type HeaderName = string

// AnyHeaderName is the name of an HTTP header, or of a pseudo-header such as :path.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^:?[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$`
type AnyHeaderName = string

// RemovedHeader is the name of a header to remove. Package translate checks its characters.
//
// +kubebuilder:validation:MaxLength=256
type RemovedHeader = string

// HeaderValue is the value of an HTTP header.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4096
type HeaderValue = string

// HostName is a host name or an address, which Envoy sends as it is written.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
type HostName = string

// StatPrefix is put before the names of statistics.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
type StatPrefix = string

// Disable is an empty object: its presence disables a policy field that a level above sets.
type Disable struct{}
