package schema

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// walk checks one object against its schema: it removes unknown fields, sets defaults, and records mistakes.
type walk struct{ *mistakes }

// value checks the value v against the schema n, and reports mistakes. If changed is true, v was converted, and
// the caller must store result in place of v.
func (w walk) value(n *node, v any) (result any, changed bool) {
	if whole, ok := integral(v); ok && (n.typ == "integer" || n.intOrString) {
		v, changed = whole, true
	}
	if v == nil && n.nullable {
		return v, changed
	}
	if !n.takes(v) {
		w.wrongType(n, v)
		return v, changed
	}
	before := len(w.found)
	switch v := v.(type) {
	case map[string]any:
		w.object(n, v)
	case []any:
		w.list(n, v)
	case string:
		w.text(n, v)
	default:
		w.scalar(n, v)
	}
	if n.rest != nil && len(w.found) == before && !n.rest.Validate(v).IsValid() {
		w.noForm(v)
	}
	return v, changed
}

// object checks an object and all values in it against the schema n, and reports mistakes. It sets defaults and
// removes unknown fields in the object itself. Unknown fields stay if the schema keeps them (node.preserve). If
// the schema has no type, the values in the object are neither checked nor removed.
func (w walk) object(n *node, object map[string]any) {
	w.fill(n, object)
	for _, name := range n.limits.Required {
		if _, found := object[name]; !found {
			w.missing(n, name)
		}
	}
	w.count(n.limits.MinProperties, n.limits.MaxProperties, len(object), "entries")
	for _, name := range slices.Sorted(maps.Keys(object)) {
		v, child := object[name], n.child(name)
		switch {
		case child == nil && n.preserve, n.typ == "":
			continue
		case child == nil:
			w.unknown(n, name)
			delete(object, name)
			continue
		}
		w.into(name, n)
		if child.ignored != nil {
			w.ignore(name, child.ignored, v)
		}
		if n.keys != nil {
			w.key(n, name)
		}
		if v, changed := w.value(child, v); changed {
			object[name] = v
		}
		w.out()
	}
}

// fill first removes fields that are null, and then sets defaults, as the API server does. So a field that is
// null gets its default. A null stays if the schema does not have the field, or allows null.
func (w walk) fill(n *node, object map[string]any) {
	for name, v := range object {
		if v != nil {
			continue
		}
		if child := n.child(name); child != nil && !child.nullable {
			w.noValue(name)
			delete(object, name)
		}
	}
	for _, name := range n.defaults {
		if _, found := object[name]; !found {
			object[name] = runtime.DeepCopyJSONValue(n.fields[name].def)
		}
	}
}

// noValue reports a field (name) of the current object that is null, if the object is a policy that may protect, or a
// GatewayExtension, or if the field has the filters of a rule, which may name a policy. The text may have been cut off
// there, or the lines below the field may be lost: without the field, less would be protected. Elsewhere null means that the
// field is not there, as for the API server.
func (w walk) noValue(name string) {
	if !w.protects() && name != "filters" || len(w.trail) == 0 || w.trail[0].name != "spec" {
		return
	}
	w.intoField(name)
	w.add(InvalidValue, "the field has no value", "write its value, or remove the line")
	w.out()
}

// list checks the items of a list against the schema n, and the list itself, and reports mistakes. If an item must
// be converted (see the method value), list replaces it in the slice items.
func (w walk) list(n *node, items []any) {
	w.count(n.limits.MinItems, n.limits.MaxItems, len(items), "items")
	if n.items == nil {
		return
	}
	for i, v := range items {
		w.intoItem(i)
		if v, changed := w.value(n.items, v); changed {
			items[i] = v
		}
		w.out()
	}
	w.duplicates(n, items)
}

// duplicates reports items that are repeated in a list of type set or map. Of several repetitions of one item, it
// reports only the first. It does nothing for other lists.
func (w walk) duplicates(n *node, list []any) {
	if len(list) < 2 || (n.listType != "set" && n.listType != "map") {
		return
	}
	first := make(map[string]int, len(list))
	for i, item := range list {
		id := identity(item, n.listKeys)
		at, twice := first[id]
		if !twice {
			first[id] = i
			continue
		}
		if at < 0 {
			continue // already reported
		}
		first[id] = -1
		w.intoItem(i)
		w.duplicate(n, item, at)
		w.out()
	}
}
