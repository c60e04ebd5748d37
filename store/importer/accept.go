package importer

import (
	"slices"
	"strings"
)

// acceptance is what the user has checked, and import leaves out (Options.Accept).
type acceptance struct {
	*report
	entries []string
	used    map[string]bool // the entries that had an effect
}

// contains reports whether one of the names is an entry. It records the name as used.
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

// leaveField removes a field of an object from its value, if the entry is OBJECT/FIELD and the field exists.
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
