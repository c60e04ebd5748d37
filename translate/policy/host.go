package policy

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// The policies of a Gateway and its listeners are not a level of delegation. They apply to every route of a
// virtual host, field by field, if no policy of the route sets the field
// (docs/design/kgateway.md#attachment-and-merging-of-trafficpolicies).

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

// Under combines the merged policies of a route (r) with those of its virtual host (host). The result has all
// fields of the route, and the fields of the virtual host that the route does not set. The result has no Uses.
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
