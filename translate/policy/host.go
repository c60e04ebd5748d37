package policy

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// The policies of a Gateway and its listeners are on the virtual hosts of the listeners, not on routes. A Stack says,
// field by field, what becomes of the value of a route
// (docs/design/kgateway.md#attachment-and-merging-of-trafficpolicies).

// Layer has the merged policies of one level above a route: of a listener, of a ListenerSet, or of a Gateway.
type Layer struct {
	Resolved
	Priority Strategy
	// Object is the Gateway or ListenerSet.
	Object manifest.Key
}

// Stack has the layers above the routes of a listener, from the lowest up: those of a ListenerSet's listener and of
// the ListenerSet, or that of the Gateway's listener; then that of the Gateway.
type Stack []Layer

// NewStack returns the layers of some levels of an object, in their order, without the levels that have no policies.
func NewStack(object manifest.Key, levels ...Level) Stack {
	var out Stack
	for _, level := range levels {
		if len(level.Specs) > 0 {
			out = append(out, Layer{level.alone(), level.Priority, object})
		}
	}
	return out
}

// Merged returns the merged fields of the layers, for routes without policies of their own.
func (s Stack) Merged() Resolved { return (&Resolved{}).Below(s) }

// Only returns the layers with only those fields for which keep returns true. They have no Uses.
func (s Stack) Only(keep func(ir.Field) bool) Stack {
	var out Stack
	for i := range s {
		if one := s[i].Resolved.Only(keep); len(one.Origins) > 0 {
			out = append(out, Layer{one, s[i].Priority, s[i].Object})
		}
	}
	return out
}

// Outcome returns what becomes of the value that a route sets for a field: it stays, a layer takes its place, or it is
// combined with the values of layers.
func (s Stack) Outcome(name ir.Field) Outcome {
	out, field := Kept, fieldNamed(name)
	for i := range s {
		if !s[i].Sets(name) {
			continue
		}
		if one := field.outcome(s[i].Priority); one == Taken || one == Joined && out == Kept {
			out = one
		}
	}
	return out
}

// fieldNamed returns the row of a field. The field must be one of Fields.
func fieldNamed(name ir.Field) *Field {
	i := slices.IndexFunc(Fields(), func(f Field) bool { return f.Name == name })
	return &Fields()[i]
}

// Below combines the merged policies of a route (r) with those of the layers above.
func (r *Resolved) Below(layers Stack) Resolved {
	out := *r
	for i := range layers {
		out = out.under(&layers[i].Resolved, layers[i].Priority)
	}
	return out
}

// UsesBelow returns how much of the policies of a route is effective below layers, without the policies of the layers.
// The function outcome says what becomes of each field that the route sets.
func (r *Resolved) UsesBelow(outcome func(ir.Field) Outcome) []Use {
	out := Resolved{Uses: slices.Clone(r.Uses)}
	for _, origin := range r.Origins {
		switch outcome(origin.Field) {
		case Kept:
			out.Origins = append(out.Origins, origin)
		case Joined: // with a policy of a layer, whose key is of no interest here
			out.Origins = append(out.Origins, FieldOrigin{Field: origin.Field, From: append(slices.Clip(origin.From), manifest.Key{})})
		}
	}
	out.setEffects()
	return out.Uses
}

// Lifted returns the fields of the layers that protect requests, are of cluster paths, and give way to policies below:
// to those of routes, and of the layers up to the index below. Child and Off are not set.
func (s Stack) Lifted(below int) (out []Loosening) {
	for _, field := range Fields() {
		if field.protects.off == nil || field.protects.silent {
			continue
		}
		for i := len(s) - 1; i > below && !(s[i].Sets(field.Name) && s[i].Priority.Prefers(field.Name)); i-- {
			if parent, outside := s[i].setter(field.Name); !outside && Sets(&s[i].Spec, field.Name) {
				out = append(out, Loosening{Field: field.Name, Parent: parent, Host: s[i].Object})
				break
			}
		}
	}
	return out
}

// LiftedBy returns where a policy of a layer goes before one of Lifted. It is nil for a policy of cluster paths.
func (s Stack) LiftedBy(policy manifest.Key) (out []Loosening) {
	merged := s.Merged()
	for i := range s {
		for _, l := range s.Lifted(i) {
			child, outside := s[i].setter(l.Field)
			if setter, _ := merged.setter(l.Field); child == policy && outside && setter == policy {
				l.Child, l.Off = child, !Sets(&s[i].Spec, l.Field)
				out = append(out, l)
			}
		}
	}
	return out
}

// LiftedFrom returns the Loosening with the policy of a route that goes before the parent's, if a team's policy does.
func (r *Resolved) LiftedFrom(l Loosening) (_ Loosening, found bool) {
	child, outside := r.setter(l.Field)
	l.Child, l.Off = child, !Sets(&r.Spec, l.Field)
	return l, outside
}

// setter returns the policy that sets a field, the preferred one of several, and whether it is outside of cluster
// paths. It returns zero values if no policy sets the field.
func (r *Resolved) setter(name ir.Field) (policy manifest.Key, outside bool) {
	for _, origin := range r.Origins {
		if origin.Field == name {
			policy = origin.From[len(origin.From)-1]
		}
	}
	return policy, slices.ContainsFunc(r.Uses, func(u Use) bool { return u.Policy == policy && u.Outside })
}

// Sets reports whether a policy sets the field. A policy that only turns the field off counts, too.
func (r *Resolved) Sets(field ir.Field) bool {
	return slices.ContainsFunc(r.Origins, func(o FieldOrigin) bool { return o.Field == field })
}

// Only returns a copy of r with only those fields for which the function keep returns true. The copy has no Uses.
func (r *Resolved) Only(keep func(ir.Field) bool) Resolved {
	out := Resolved{}
	for _, field := range Fields() {
		if r.Sets(field.Name) && keep(field.Name) {
			field.merge(&out.Spec, &r.Spec, ShallowMergePreferChild)
		}
	}
	out.Origins = slices.DeleteFunc(slices.Clone(r.Origins), func(o FieldOrigin) bool { return !keep(o.Field) })
	return out
}

// byField returns, for each field, the policies that set it.
func byField(origins []FieldOrigin) map[ir.Field][]manifest.Key {
	out := map[ir.Field][]manifest.Key{}
	for _, o := range origins {
		out[o.Field] = o.From
	}
	return out
}

// inOrder converts the map to a list in the order of Fields. The map has, for each field, the policies that set
// the field. A field without policies is left out.
func inOrder(origins map[ir.Field][]manifest.Key) []FieldOrigin {
	var out []FieldOrigin
	for _, field := range Fields() {
		if from := origins[field.Name]; len(from) > 0 {
			out = append(out, FieldOrigin{Field: field.Name, From: from})
		}
	}
	return out
}
