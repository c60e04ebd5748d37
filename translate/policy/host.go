package policy

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// The policies of a Gateway and its listeners are not a level of delegation. They apply to every route of a
// virtual host, field by field, if no policy of the route sets the field
// (docs/design/kgateway.md#attachment-and-merging-of-trafficpolicies).

// Sets reports whether a policy sets the field, even if only to turn it off.
func (r *Resolved) Sets(field ir.Field) bool {
	return slices.ContainsFunc(r.Origins, func(o FieldOrigin) bool { return o.Field == field })
}

// Only returns a copy of r that has only the fields for which keep returns true. Uses of the copy is nil.
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

// Under returns the fields of r, the policies of a route, together with those fields of host, the policies of
// its virtual host, that r does not set. Uses of the result is nil.
func (r *Resolved) Under(host *Resolved) Resolved {
	out := Resolved{Spec: r.Spec}
	from := func(origins []FieldOrigin) map[ir.Field][]manifest.Key {
		byField := map[ir.Field][]manifest.Key{}
		for _, o := range origins {
			byField[o.Field] = o.From
		}
		return byField
	}
	origins := from(r.Origins)
	merge(&out.Spec, origins, &host.Spec, from(host.Origins), ShallowMergePreferChild)
	out.Origins = inOrder(origins)
	return out
}

// inOrder returns the origins as a list, in the order of Fields. A field without origins is left out.
func inOrder(origins map[ir.Field][]manifest.Key) []FieldOrigin {
	var out []FieldOrigin
	for _, field := range Fields() {
		if from := origins[field.Name]; len(from) > 0 {
			out = append(out, FieldOrigin{Field: field.Name, From: from})
		}
	}
	return out
}
