package importer

import (
	"slices"
	"strings"
)

// acceptance has the entries of Options.Accept (the flag --accept): objects, kinds, annotations and fields that
// the import leaves out, because the user has checked that they protect nothing.
type acceptance struct {
	*report
	entries []string
	used    map[string]bool // the entries that had an effect
}

// contains reports whether at least one of the names is an entry of Options.Accept. It also records that the first
// such entry had an effect (see unused).
func (a *acceptance) contains(names ...string) bool {
	for _, name := range names {
		if slices.Contains(a.entries, name) {
			a.used[name] = true
			return true
		}
	}
	return false
}

// leaveFields removes from the objects the fields that Options.Accept names (see leaveField).
func (a *acceptance) leaveFields(objects []*item) {
	for _, entry := range a.entries {
		for _, object := range objects {
			a.leaveField(entry, object.place, object.name(), object.fields)
		}
	}
}

// leaveField removes a field from value, the content of the named object. The parameter entry is one entry of
// Options.Accept. If the entry is OBJECT/FIELD for this object, and value has the field, leaveField removes the
// field, adds a verdict, and records that the entry had an effect. Otherwise it does nothing. It never removes
// items of lists.
func (a *acceptance) leaveField(entry string, at place, object string, value any) {
	field, ok := strings.CutPrefix(entry, object+"/")
	if !ok || !remove(value, parse(field)) {
		return
	}
	a.used[entry] = true
	a.add(Different, at, object, "left out, as --accept says", field)
}

// unused returns the entries of Options.Accept that had no effect, for example because of a spelling mistake.
func (a *acceptance) unused() []string {
	return slices.DeleteFunc(slices.Clone(a.entries), func(entry string) bool { return a.used[entry] })
}
