// Package policy merges TrafficPolicies and converts the result to ir.Extras. Every function is pure.
//
// Policies come in levels: one level for the route that serves a request, and one level for each route above it
// that delegates. Within a level the policies are ordered, and a later policy sets only fields that no earlier
// policy sets. Between levels, an annotation of each route above says which fields win
// (docs/design/kgateway.md#attachment-and-merging-of-trafficpolicies).
package policy

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Standing says in which way a policy applies to a rule, for example by targeting the whole route. A lower value
// has precedence.
type Standing uint8

// The values of Standing.
const (
	ByExtension Standing = iota // the rule names the policy in a filter
	BySection                   // the policy targets the rule, or the listener
	ByObject                    // the policy targets the route, the ListenerSet or the Gateway
	ByGateway                   // the policy targets the Gateway of the ListenerSet
)

// Attached is a policy that applies to one rule of one route, or to one listener.
type Attached struct {
	Origin   *ir.Origin
	Standing Standing
	// Weight is the value of AnnotationPolicyWeight.
	Weight int32
	Spec   *api.TrafficPolicySpec
}

// Level has the policies of one rule of one route, or of one listener, in the order of precedence. Several
// Levels are merged along a chain of delegation. Priority says how this Level is merged with the policies of
// child routes.
type Level struct {
	Specs    []*Attached
	Priority Strategy
}

// NewLevel returns a Level with the policies in specs, sorted by Standing, then by Weight (the larger first),
// then by the function tie, which compares in the order of conflict resolution. A policy that applies in two
// ways is listed once, with the lower Standing.
func NewLevel(specs []*Attached, priority Strategy, tie func(a, b *ir.Origin) int) Level {
	specs = slices.Clone(specs)
	slices.SortStableFunc(specs, func(a, b *Attached) int {
		return cmp.Or(cmp.Compare(a.Standing, b.Standing), cmp.Compare(b.Weight, a.Weight), tie(a.Origin, b.Origin))
	})
	seen := map[manifest.Key]bool{}
	specs = slices.DeleteFunc(specs, func(a *Attached) bool {
		again := seen[a.Origin.Key]
		seen[a.Origin.Key] = true
		return again
	})
	return Level{Specs: specs, Priority: priority}
}

// WeightOf returns the weight in the annotations of a policy. Without the annotation it returns 0 and true. If
// the value is not an integer of 32 bits, it returns 0 and false.
func WeightOf(annotations map[string]string) (weight int32, ok bool) {
	text, written := annotations[api.AnnotationPolicyWeight]
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, !written
	}
	return int32(n), true
}

// Resolved is the merged result of the policies of all levels.
type Resolved struct {
	// Spec has no TargetRefs. It shares memory with the policies: do not change it.
	Spec api.TrafficPolicySpec
	// Origins names the policies that set each field.
	Origins []FieldOrigin
	// Uses says how much of each policy is effective. The policies of the route that serves the request come
	// first, and those of the root last.
	Uses []Use
}

// FieldOrigin names the policies that set the value of one field after the merge. From has several policies only
// if their values were combined (see Strategy). The preferred policy is then the last.
type FieldOrigin struct {
	Field ir.Field
	From  []manifest.Key
}

// Use says, for one policy, how much of the policy is effective after the merge.
type Use struct {
	Policy manifest.Key
	Effect Effect
	// Fields is the number of fields that the policy sets.
	Fields int
	// Outside is true if the policy is outside of cluster paths (ir.Origin.Outside).
	Outside bool
}

// Effect says how much of a policy is effective after the merge with other policies.
type Effect uint8

// The values of Effect. They correspond to the reasons of the condition Attached.
const (
	WhollyUsed Effect = iota // every field is effective
	Merged                   // some fields are effective, or are merged with other policies
	Overridden               // no field is effective
)

// Resolve merges the policies of the levels. The first level is that of the root route, and the last is that of
// the route that serves the request.
func Resolve(levels []Level) Resolved {
	var out Resolved
	for i, level := range slices.Backward(levels) {
		if one := level.alone(); i == len(levels)-1 {
			out = one
		} else {
			out = out.under(&one, level.Priority)
		}
	}
	return out
}

// alone merges the policies of one level. A policy sets only the fields that no earlier policy of the level sets.
func (l *Level) alone() Resolved {
	var out Resolved
	for _, policy := range l.Specs {
		one := Resolved{Spec: *policy.Spec}
		fields := SetFields(policy.Spec)
		for _, field := range fields {
			one.Origins = append(one.Origins, FieldOrigin{Field: field, From: []manifest.Key{policy.Origin.Key}})
		}
		one.Uses = []Use{{Policy: policy.Origin.Key, Fields: len(fields), Outside: policy.Origin.Outside}}
		out = out.under(&one, ShallowMergePreferChild)
	}
	return out
}

// under merges the fields of a level above (the parameter above) into those of r. The strategy s says how. Neither
// of the two changes.
func (r *Resolved) under(above *Resolved, s Strategy) Resolved {
	out := Resolved{Spec: r.Spec, Uses: slices.Clone(r.Uses)}
	origins := byField(r.Origins)
	merge(&out.Spec, origins, &above.Spec, byField(above.Origins), s)
	out.Origins = inOrder(origins)
	for _, use := range above.Uses {
		if !slices.ContainsFunc(out.Uses, func(u Use) bool { return u.Policy == use.Policy }) {
			out.Uses = append(out.Uses, use)
		}
	}
	out.setEffects()
	return out
}

// SetFields returns the names of the fields that a spec sets, in the order of Fields.
func SetFields(spec *api.TrafficPolicySpec) (out []ir.Field) {
	for _, field := range Fields() {
		if field.has(spec) {
			out = append(out, field.Name)
		}
	}
	return out
}

// merge merges the spec of a parent's level into the spec of a child's level (the parameter child). The strategy s
// says how. The map childOrigins has, for each field of the child, the policies that set the field. The map
// parentOrigins has the same for the parent. The result is stored in child and childOrigins.
func merge(child *api.TrafficPolicySpec, childOrigins map[ir.Field][]manifest.Key, parent *api.TrafficPolicySpec, parentOrigins map[ir.Field][]manifest.Key, s Strategy) {
	for _, field := range Fields() {
		name := field.Name
		switch field.merge(child, parent, s) {
		case Taken:
			childOrigins[name] = parentOrigins[name]
		case Joined:
			first, last := parentOrigins[name], childOrigins[name]
			if s.Prefers(name) {
				first, last = last, first
			}
			childOrigins[name] = unique(slices.Concat(first, last))
		}
	}
}

// unique removes duplicates from a list of policies. Of several equal keys it keeps the last, because preferred
// policies come last in the list.
func unique(keys []manifest.Key) []manifest.Key {
	var out []manifest.Key
	for i, key := range keys {
		if !slices.Contains(keys[i+1:], key) {
			out = append(out, key)
		}
	}
	return out
}

// setEffects sets the effects in Uses, by Origins.
func (r *Resolved) setEffects() {
	used, shared := map[manifest.Key]int{}, map[manifest.Key]bool{}
	for _, origin := range r.Origins {
		for _, key := range origin.From {
			used[key]++
			shared[key] = shared[key] || len(origin.From) > 1
		}
	}
	for i := range r.Uses {
		use := &r.Uses[i]
		switch use.Effect = WhollyUsed; {
		case used[use.Policy] == 0 && use.Fields > 0:
			use.Effect = Overridden
		case used[use.Policy] < use.Fields, shared[use.Policy]:
			use.Effect = Merged
		}
	}
}

// Extras converts the merged spec to ir.Extras. It returns nil if no policy sets any field. Each of the merged
// policies must have passed Lower and xds.CheckExtras, so problems of the conversion are ignored.
func (r Resolved) Extras() *ir.Extras {
	if len(r.Origins) == 0 {
		return nil
	}
	extras, _ := Lower(&r.Spec)
	return extras
}

// Lower converts a spec to ir.Extras, and returns the problems in it. A problem names the field; the caller
// adds the object. If a problem is an error, the policy must not be used.
func Lower(spec *api.TrafficPolicySpec) (*ir.Extras, []manifest.Problem) {
	extras := &ir.Extras{}
	var problems []manifest.Problem
	for _, field := range Fields() {
		if field.has(spec) {
			problems = append(problems, field.lower(spec, extras)...)
		}
	}
	return extras, problems
}
