package schema

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

// walk goes through one object once, along its schema. It removes unknown fields, sets defaults and checks
// values.
type walk struct {
	*checker
	path    []step
	found   []Finding
	blocked bool  // a finding prevents the CEL rules from running
	small   bool  // the cost of CEL rules is not counted (isSmall)
	budget  int64 // the cost that CEL rules may still have, in units of the API server
}

// maxFindings is the maximum number of findings of one object. An object of another program may have only
// unknown fields.
const maxFindings = 200

// step is one step of a path: a field, a key of a map or an index.
type step struct {
	name  string
	index int // index of an item; aField or aKey for a name
}

const (
	aField = -1
	aKey   = -2
)

// into appends one step with the given name to the path: a field of n, or a key if n is a map. The method out
// removes the last step.
func (w *walk) into(name string, n *node) {
	if n.fields[name] == nil && n.values != nil {
		w.path = append(w.path, step{name, aKey})
		return
	}
	w.intoField(name)
}

func (w *walk) intoField(name string) { w.path = append(w.path, step{name, aField}) }

func (w *walk) intoItem(index int) { w.path = append(w.path, step{index: index}) }

func (w *walk) out() { w.path = w.path[:len(w.path)-1] }

// add records a finding at the current path.
func (w *walk) add(code, message, hint string) {
	w.addAt(code, pathText(w.path), message, hint)
}

// addAt records a finding. The parameter field is its path. After maxFindings findings it records no more. If
// blocks returns true for the code, the CEL rules of the object do not run.
func (w *walk) addAt(code, field, message, hint string) {
	w.blocked = w.blocked || blocks(code)
	if len(w.found) < maxFindings {
		w.found = append(w.found, Finding{Code: code, Field: field, Message: message, Hint: hint})
	}
}

// pathText returns a path in the form of Finding.Field.
func pathText(path []step) string {
	var text []byte
	for _, s := range path {
		switch {
		case s.index >= 0:
			text = append(strconv.AppendInt(append(text, '['), int64(s.index), 10), ']')
		case s.index == aKey:
			text = append(append(append(text, '['), s.name...), ']')
		case len(text) > 0:
			text = append(append(text, '.'), s.name...)
		default:
			text = append(text, s.name...)
		}
	}
	return string(text)
}

// value reports the mistakes in v, which must match n. If changed is true, the caller must replace v by result.
func (w *walk) value(n *node, v any) (result any, changed bool) {
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

// object reports the mistakes in an object and its values. It removes unknown fields and sets defaults in
// place.
func (w *walk) object(n *node, object map[string]any) {
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
		if n.keys != nil {
			w.key(n, name)
		}
		if v, changed := w.value(child, v); changed {
			object[name] = v
		}
		w.out()
	}
}

// fill removes nulls and then sets defaults, in the order of the API server. So a field that is null gets its
// default. A null stays if the field is unknown or nullable.
func (w *walk) fill(n *node, object map[string]any) {
	for name, v := range object {
		if v != nil {
			continue
		}
		if child := n.child(name); child != nil && !child.nullable {
			delete(object, name)
		}
	}
	for _, name := range n.defaults {
		if _, found := object[name]; !found {
			object[name] = runtime.DeepCopyJSONValue(n.fields[name].def)
		}
	}
}

// list reports the mistakes in a list and its items. If value converts an item, the list gets the new item in
// place.
func (w *walk) list(n *node, list []any) {
	w.count(n.limits.MinItems, n.limits.MaxItems, len(list), "items")
	if n.items == nil {
		return
	}
	for i, v := range list {
		w.intoItem(i)
		if v, changed := w.value(n.items, v); changed {
			list[i] = v
		}
		w.out()
	}
	w.duplicates(n, list)
}

// duplicates reports items that are repeated in a list of type set or map.
func (w *walk) duplicates(n *node, list []any) {
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

// unknown reports a field with the given name, which objects of n do not have. If there are maxFindings
// findings already, it does nothing.
func (w *walk) unknown(n *node, name string) {
	if len(w.found) >= maxFindings {
		return // finding a suggestion takes time
	}
	w.intoField(name)
	defer w.out()
	if w.notServedField(name) {
		return
	}
	hint := nearest(name, n.fields, w.places(), w.path)
	w.add(UnknownField, "unknown field "+shown(name), hint)
}

// missing reports that an object does not have the required field of n with the given name.
func (w *walk) missing(n *node, name string) {
	w.intoField(name)
	hint := ""
	if child := n.fields[name]; child != nil && len(child.limits.Enum) > 0 {
		hint = "it is one of " + enumText(child)
	}
	w.add(RequiredField, name+" is missing", hint)
	w.out()
}
