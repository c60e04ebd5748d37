package importer

import (
	"slices"
	"strings"
)

// acceptance has the entries of Options.Accept: objects, kinds, annotations and fields that the user has
// checked, and that import leaves out.
type acceptance struct {
	*report
	entries []string
	used    map[string]bool // the entries that had an effect
}

// contains reports whether Options.Accept has one of the names. It records that this name had an effect.
func (a *acceptance) contains(names ...string) bool {
	for _, name := range names {
		if slices.Contains(a.entries, name) {
			a.used[name] = true
			return true
		}
	}
	return false
}

// leaveFields removes the fields that entries name from their objects.
func (a *acceptance) leaveFields(objects []*item) {
	for _, entry := range a.entries {
		for _, object := range objects {
			a.leaveField(entry, object.place, object.name(), object.fields)
		}
	}
}

// leaveField removes a field from value if the entry is OBJECT/FIELD, and value has the field. object is the
// name of the object, and value its content. It adds a verdict, and records that the entry had an effect.
func (a *acceptance) leaveField(entry string, at place, object string, value any) {
	field, ok := strings.CutPrefix(entry, object+"/")
	if !ok || !remove(value, parse(field)) {
		return
	}
	a.used[entry] = true
	a.add(Different, at, object, "left out, as --accept says", field)
}

// unused returns the entries that had no effect.
func (a *acceptance) unused() []string {
	return slices.DeleteFunc(slices.Clone(a.entries), func(entry string) bool { return a.used[entry] })
}
