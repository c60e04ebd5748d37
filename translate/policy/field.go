package policy

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate/ir"
)

// Field is one field of a TrafficPolicy: merged and lowered apart from others.
type Field interface {
	// Name is the path below spec.
	Name() string
	// Merge joins what from, which stands above, says of the field into into, and
	// tells what into holds then. Parts are shared, never changed.
	Merge(into, from *api.TrafficPolicySpec, s Strategy) Outcome
	// Lower puts the field into extras. Problems name fields, not the object.
	Lower(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem
}

// Outcome is what a field holds after Merge.
type Outcome uint8

// The outcomes.
const (
	Kept   Outcome = iota // what into had
	Taken                 // what from has
	Joined                // parts of both
)

// Fields is the list of fields, in the order in which they are shown.
func Fields() []Field {
	return []Field{
		transformation{},
		extAuth(),
		extProc(),
		localRateLimit(),
		globalRateLimit(),
		cors(),
		csrf(),
		buffer(),
		headerModifiers(),
		autoHostRewrite(),
		timeouts(),
		retry(),
		hashPolicies(),
	}
}

// single is a field that is not merged deeply: one side's value is in force.
type single[T any] struct {
	name  string
	get   func(*api.TrafficPolicySpec) *T
	put   func(*api.TrafficPolicySpec, *T)
	lower func(*T, *ir.Extras) []manifest.Problem
}

func (f single[T]) Name() string { return f.name }

func (f single[T]) Merge(into, from *api.TrafficPolicySpec, s Strategy) Outcome {
	theirs := f.get(from)
	if theirs == nil || f.get(into) != nil && !s.prefersParent() {
		return Kept
	}
	f.put(into, theirs)
	return Taken
}

func (f single[T]) Lower(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	value := f.get(spec)
	if value == nil {
		return nil
	}
	return f.lower(value, extras)
}

// notServed is about what kgateway has and gatefold does not serve.
func notServed(field, what, hint string) manifest.Problem {
	return manifest.Problem{
		Code: schema.NotServed, Severity: manifest.Error, Field: field,
		Message: "kgateway has " + what + "; gatefold does not serve it", Hint: hint,
	}
}

func warning(field, message, hint string) manifest.Problem {
	return manifest.Problem{Code: "NoEffect", Severity: manifest.Warning, Field: field, Message: message, Hint: hint}
}

func number(p *int32, unset uint32) uint32 {
	if p == nil {
		return unset
	}
	return uint32(*p)
}

func isTrue(b *bool) bool { return b != nil && *b }
