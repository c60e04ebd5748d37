package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// objectChanges says which objects differ between the old and the new configuration, and which errors make objects
// missing in the new configuration.
type objectChanges struct {
	// kinds says how each object changed. It does not have equal objects.
	kinds map[manifest.Key]Kind
	// mistakes has the first error of each object in the new configuration, and former in the old one.
	mistakes, former map[manifest.Key]*manifest.Problem
	// held has the errors of the edits that a running gatefold would hold, if the new configuration is read as from a cold
	// start (see ownErrors).
	held map[manifest.Key][]manifest.Problem
}

// newObjectChanges compares the objects of the old configuration (the parameter before) and of the new configuration
// (the parameter after) by their hashes. For each object, it also keeps its first error in each configuration.
func newObjectChanges(before, after Side) *objectChanges {
	o := &objectChanges{kinds: kindsOfObjects(before.Objects, after.Objects), mistakes: firstErrors(after.Problems), former: firstErrors(before.Problems)}
	if after.Judged == nil {
		o.held = o.ownErrors(before, after)
	}
	return o
}

// ownErrors returns the errors of objects that the old configuration serves, and of which the new one has another version
// with an error. An error that the old configuration has, too, counts only if its version is not served there (Side.Stale).
func (o *objectChanges) ownErrors(before, after Side) map[manifest.Key][]manifest.Problem {
	stale := map[manifest.Key]bool{}
	for _, key := range before.Stale {
		stale[key] = true
	}
	known := slices.DeleteFunc(slices.Clone(before.Problems), func(p manifest.Problem) bool { return stale[p.Object] })
	own := map[manifest.Key][]manifest.Problem{}
	for _, p := range without(after.Problems, known) {
		if kind := o.kinds[p.Object]; p.Severity == manifest.Error && (kind == Changed || kind == Removed) {
			own[p.Object] = append(own[p.Object], p)
		}
	}
	return own
}

// heldEdits returns the edits in o.held, sorted by key.
func (o *objectChanges) heldEdits() (all []HeldEdit) {
	for _, key := range slices.SortedFunc(maps.Keys(o.held), manifest.CompareKeys) {
		all = append(all, HeldEdit{Kind: Changed, Object: key, Serves: ServesBefore, Problems: o.held[key]})
	}
	return all
}

// firstErrors returns the first error of each object.
func firstErrors(problems []manifest.Problem) map[manifest.Key]*manifest.Problem {
	first := map[manifest.Key]*manifest.Problem{}
	for i := range slices.Backward(problems) {
		if p := &problems[i]; p.Severity == manifest.Error {
			first[p.Object] = p
		}
	}
	return first
}

// kindsOfObjects returns how each object changed. Equal objects are not in the map.
func kindsOfObjects(before, after []*manifest.Object) map[manifest.Key]Kind {
	byKey := func(list []*manifest.Object) map[manifest.Key]*manifest.Object {
		out := make(map[manifest.Key]*manifest.Object, len(list))
		for _, o := range list {
			out[o.Key] = o
		}
		return out
	}
	old, now := byKey(before), byKey(after)
	kinds := map[manifest.Key]Kind{}
	for key, x := range old {
		if y := now[key]; y == nil || x.Hash != y.Hash {
			kinds[key] = kindOf(true, y != nil)
		}
	}
	for key := range now {
		if old[key] == nil {
			kinds[key] = Added
		}
	}
	return kinds
}

// list returns the objects that differ, sorted by their keys.
func (o *objectChanges) list() (out []ObjectChange) {
	for _, key := range slices.SortedFunc(maps.Keys(o.kinds), manifest.CompareKeys) {
		kind := o.kinds[key]
		if o.mistakeOf(key) != "" {
			kind = Invalid
		}
		out = append(out, ObjectChange{Kind: kind, Object: key})
	}
	return out
}

// anyOfKind reports whether any object of an API kind, such as GatewayExtension, differs.
func (o *objectChanges) anyOfKind(kind string) bool {
	for key := range o.kinds {
		if key.Kind == kind {
			return true
		}
	}
	return false
}

// mistakeOf returns the error because of which an object is missing: the old configuration has the object, and the
// new configuration does not. mistakeOf returns "" if the object is not missing, or if no error names the object.
func (o *objectChanges) mistakeOf(object manifest.Key) string {
	if p := o.mistakes[object]; p != nil && o.kinds[object] == Removed {
		return p.Message
	}
	return ""
}

// wasMistaken returns the error because of which an object was missing before: the new configuration has the object, and
// the old one does not. It returns "" if the object was not missing, or if no error names it.
func (o *objectChanges) wasMistaken(object manifest.Key) string {
	if p := o.former[object]; p != nil && o.kinds[object] == Added {
		return p.Message
	}
	return ""
}

// gainedParent returns, in words, why a root route delegates requests to a child route that did not change.
func (o *objectChanges) gainedParent(root manifest.Key) string {
	switch {
	case o.wasMistaken(root) != "":
		return fmt.Sprintf("%s had an error (%s)", root, o.wasMistaken(root))
	case o.kinds[root] == Added:
		return root.String() + " is new"
	case o.kinds[root] == Changed:
		return root.String() + " changed"
	}
	return "its parents changed"
}

// attachment returns, in words, why a root route that did not change is attached to a Gateway in one configuration alone.
func (o *objectChanges) attachment(gateway string) string {
	key := ir.GatewayKey(gateway)
	switch o.kinds[key] {
	case Added:
		return key.String() + " is new"
	case Removed:
		return key.String() + " is gone"
	case Changed:
		return key.String() + " changed"
	}
	return "its parents, or what admits it there, changed"
}

// lostParent returns, in words, why a root route no longer delegates requests to a child route that did not change.
// The reason is that the root has an error, is gone, or changed. If none of these is true, the text is "its parents
// changed", which means the parents of the child.
func (o *objectChanges) lostParent(root manifest.Key) string {
	switch {
	case o.mistakeOf(root) != "":
		return o.errorWords("", root)
	case o.kinds[root] == Removed:
		return root.String() + " is gone"
	case o.kinds[root] == Changed:
		return root.String() + " changed"
	}
	return "its parents changed"
}

// errorWords returns a text about the error of an object whose newest version is invalid (see mistakeOf). The
// text begins with start, such as "; ". It returns "" if the object has no error.
func (o *objectChanges) errorWords(start string, object manifest.Key) string {
	if mistake := o.mistakeOf(object); mistake != "" {
		return fmt.Sprintf("%s%s has an error (%s)", start, object, mistake)
	}
	return ""
}
