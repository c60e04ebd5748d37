package policy

import (
	"slices"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// Loosening is a protecting field of a policy that one of a route below takes out of force.
type Loosening struct {
	Field         string
	Parent, Child manifest.Key // the policies
	// Off tells that nothing stands in the place of the parent's field.
	Off bool
}

// protection is a field that keeps requests away from backends.
type protection struct {
	name string
	// set tells whether a policy says anything of the field, and off that it lifts what
	// others ask for.
	set, off func(*api.TrafficPolicySpec) bool
	// replaced tells that another value may ask for less than the parent's.
	replaced bool
}

func protections() []protection {
	return []protection{
		{
			name: "extAuth", replaced: true,
			set: func(s *api.TrafficPolicySpec) bool { return s.ExtAuth != nil },
			off: func(s *api.TrafficPolicySpec) bool { return s.ExtAuth.Disable != nil },
		},
		{
			name: "csrf", replaced: true,
			set: func(s *api.TrafficPolicySpec) bool { return s.CSRF != nil },
			off: func(s *api.TrafficPolicySpec) bool { return number(s.CSRF.PercentageEnabled, 0) == 0 },
		},
		{
			name: "rateLimit.local",
			set:  func(s *api.TrafficPolicySpec) bool { return s.RateLimit != nil && s.RateLimit.Local != nil },
			off:  func(s *api.TrafficPolicySpec) bool { return s.RateLimit.Local.TokenBucket == nil },
		},
	}
}

// Loosened returns what the levels below take out of force of the protecting fields of
// the levels above: levels are those that came to resolved, the root's first. A limit
// that is replaced by another one is none of them.
func Loosened(levels []Level, resolved *Resolved) []Loosening {
	var out []Loosening
	for _, p := range protections() {
		i := slices.IndexFunc(resolved.Origins, func(o FieldOrigin) bool { return o.Field == p.name })
		if i < 0 {
			continue
		}
		parent, below := p.protector(levels)
		off := p.off(&resolved.Spec)
		child, lower := p.setter(levels[below:], resolved.Origins[i].From)
		if lower && (off || p.replaced) {
			out = append(out, Loosening{Field: p.name, Parent: parent, Child: child, Off: off})
		}
	}
	return out
}

// protector finds the outermost policy that asks for the protection, and which levels
// are below it.
func (p protection) protector(levels []Level) (policy manifest.Key, below int) {
	for i, level := range levels {
		for _, a := range level.Specs {
			if !p.set(a.Spec) {
				continue
			}
			if !p.off(a.Spec) {
				return a.Origin.Key, i + 1
			}
			break // the level itself lifts it
		}
	}
	return policy, len(levels)
}

// setter gives the policy of one of the levels whose field is in force.
func (p protection) setter(levels []Level, inForce []manifest.Key) (policy manifest.Key, found bool) {
	for _, level := range levels {
		for _, a := range level.Specs {
			if p.set(a.Spec) && slices.Contains(inForce, a.Origin.Key) {
				return a.Origin.Key, true
			}
		}
	}
	return policy, false
}
