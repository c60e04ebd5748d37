package policy

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// The policies of a Gateway and its listeners are no level of delegation: they
// hold for every route of a virtual host, field by field, where no policy of the
// route says anything (docs/design/kgateway.md#attachment-and-merging-of-trafficpolicies).

// Sets reports whether a policy sets the field, even if only to disable what others set.
func (r *Resolved) Sets(field ir.Field) bool {
	return slices.ContainsFunc(r.Origins, func(o FieldOrigin) bool { return o.Field == field })
}

// Only returns the fields for which keep is true.
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

// Under returns r with the fields of its virtual host that r does not set.
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

// inOrder returns the origins in the order of Fields.
func inOrder(origins map[ir.Field][]manifest.Key) []FieldOrigin {
	var out []FieldOrigin
	for _, field := range Fields() {
		if from := origins[field.Name]; len(from) > 0 {
			out = append(out, FieldOrigin{Field: field.Name, From: from})
		}
	}
	return out
}
