package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Loosening is a reason for a warning: a parent route has a field that protects requests, and a policy or filter
// of a child route turns this field off or replaces it.
type Loosening struct {
	Field         ir.Field
	Parent, Child manifest.Key // policies, or routes: see Filter and At
	// Filter is true if the Parent is a route with the filter ExternalAuth.
	Filter bool
	// At is the path of the filter if Child is a route with the filter ExternalAuth. It is "" if Child is a
	// policy.
	At string
	// Off is true if Child turns the protection off, and false if Child replaces or extends its value.
	Off bool
	// Host is the Gateway or ListenerSet that Parent is for. It is zero if Parent is for a route.
	Host manifest.Key
}

// Problem returns the warning. The object of the warning is Child, the policy or route that weakens the
// protection. It is not an error, because the Strategy of the parent route allows children to override the field.
func (l Loosening) Problem() manifest.Problem {
	what := string(l.Field)
	if l.Filter {
		what = "the filter " + ir.PartExternalAuth
	}
	place, on := "a route above", "the route that delegates"
	if l.Host != (manifest.Key{}) {
		place, on = l.Host.String(), l.Host.String()
	}
	problem := manifest.Problem{
		Code: "LoosensParent", Severity: manifest.Warning, Object: l.Child, Field: cmp.Or(l.At, l.Field.Path()),
		Message: fmt.Sprintf("this replaces %s of %s, which is for %s: requests are not checked as it asks for", what, l.Parent, place),
		Hint: fmt.Sprintf("if this is not meant, remove the field here, or let policies above win: annotation %s: %s on %s",
			api.AnnotationPolicyPriority, ShallowMergePreferParent, on),
	}
	if l.Off {
		problem.Message = fmt.Sprintf("this turns off %s of %s, which is for %s: requests pass without it", what, l.Parent, place)
	}
	return problem
}

// protection says whether a field keeps requests away from backends, and when it stops doing so. It is zero for
// a field that does not protect.
type protection struct {
	// off reports whether a spec that sets the field turns the protection off. It is nil for a field that does not
	// protect.
	off func(*api.TrafficPolicySpec) bool
	// replaced is true if a policy that replaces or extends the parent's value may weaken the protection.
	replaced bool
	// silent is true if nobody is warned of another value (cors, which browsers obey and other clients do not).
	silent bool
}

// Loosened returns where policies of child routes weaken the protection of a parent route: a policy of a parent
// sets a field that protects requests, and a policy of a child turns the field off, or replaces or extends its
// value. The parameter levels has the levels that were merged into resolved, the root's first. A rate limit, a buffer
// or an external processor that replaces another one is not reported, but for this case: the parent's policy is of
// cluster paths, and the child's is not.
func Loosened(levels []Level, resolved *Resolved) []Loosening {
	var out []Loosening
	for _, field := range Fields() {
		i := slices.IndexFunc(resolved.Origins, func(o FieldOrigin) bool { return o.Field == field.Name })
		if i < 0 || field.protects.off == nil || field.protects.silent {
			continue
		}
		parent, below := field.protector(levels)
		if parent == nil || levels[below-1].Priority.Prefers(field.Name) {
			continue
		}
		off := field.protects.off(&resolved.Spec)
		child := field.setter(levels[below:], resolved.Origins[i].From)
		if child != nil && (off || field.protects.replaced || OfTeam(parent, child)) {
			out = append(out, Loosening{Field: field.Name, Parent: parent.Key, Child: child.Key, Off: off})
		}
	}
	return out
}

// OfTeam reports whether a parent is of cluster paths, and a child is not. It is false without path policies.
func OfTeam(parent, child *ir.Origin) bool { return !parent.Outside && child.Outside }

// protector returns the first policy, from the root downwards, whose value of the field f protects requests. A
// policy that only turns the field off does not count. The levels in levels[below:] are the levels below this
// policy. If no policy protects requests, policy is nil and below is len(levels).
func (f *Field) protector(levels []Level) (policy *ir.Origin, below int) {
	for i, level := range levels {
		for _, a := range level.Specs {
			if !f.has(a.Spec) {
				continue
			}
			if !f.protects.off(a.Spec) {
				return a.Origin, i + 1
			}
			break // the level itself turns the protection off
		}
	}
	return nil, len(levels)
}

// setter returns the first policy in levels that sets the field and whose value is effective. The parameter
// inForce has the policies whose values of the field are effective. If levels has no such policy, the result is nil.
func (f *Field) setter(levels []Level, inForce []manifest.Key) *ir.Origin {
	for _, level := range levels {
		for _, a := range level.Specs {
			if f.has(a.Spec) && slices.Contains(inForce, a.Origin.Key) {
				return a.Origin
			}
		}
	}
	return nil
}
