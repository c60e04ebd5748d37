package engine

import (
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// unit has edits that take effect together, or not at all. Mostly it is one edit. A policy that protects, the objects that
// it names, and the routes that name it are one unit if two or more of them are edited: so protection that moves from one
// object to another is never half there.
type unit struct {
	edits []store.Edit
	// failed is an object of the unit whose text is invalid, zero if there is none.
	failed manifest.Key
	texts  []string // the places of all texts of the unit that cannot be parsed
	stage  stage
	// noted are the errors because of which the edits are not applied, by object.
	noted map[manifest.Key][]manifest.Problem
	fixed bool // it stays live in this judging, whatever its errors are
}

// stage says what a unit is in a judging.
type stage int

const (
	candidate stage = iota // its edits are applied, on trial
	live                   // what was served before is served
	forced                 // its edits are applied, because what was served before has the same errors
)

// hasLive reports whether the unit has an object that was served before: there is something to keep.
func (u *unit) hasLive(folder *store.Store) bool {
	return folder.Served(u.failed) != nil || slices.ContainsFunc(u.edits, func(e store.Edit) bool { return e.Before != nil })
}

// waitsFor is the code of the problem that an edit waits for another object of its unit.
const waitsFor = "WaitsFor"

// meanwhile says what is served while an edit is not applied.
func meanwhile(e store.Edit) string {
	switch {
	case e.Before == nil:
		return "the new object is not served"
	case e.After == nil:
		return "the object is still served"
	}
	return "the version before it is still served"
}

// problems returns what is wrong with an edit of the unit.
func (u *unit) problems(e store.Edit) (all []manifest.Problem) {
	for _, p := range u.noted[e.Key] {
		p.Message += "; the edit is not applied, and " + meanwhile(e)
		p.Hint = strings.TrimPrefix(p.Hint, translate.ClosedUntil) // they do not
		if ofStream(p) {
			p.Severity = manifest.Error
		}
		all = append(all, p)
	}
	if len(all) > 0 {
		return all
	}
	cause := nameOf(u.fault())
	p := manifest.Problem{
		Code: waitsFor, Severity: manifest.Error, Object: e.Key,
		Message: "the edit waits for " + cause + ", which has an error: both take effect together; until then, " + meanwhile(e),
		Hint:    "fix the error of " + cause,
	}
	if u.fault().IsZero() {
		p.Message = "the edits of this namespace depend on each other in too many ways: this one is not applied, and " + meanwhile(e)
		p.Hint = "make fewer edits at once"
	}
	return []manifest.Problem{p}
}

// nameOf names an object, or a text by its place.
func nameOf(key manifest.Key) string {
	if key.Kind == "" {
		return key.Name
	}
	return key.String()
}

// fault returns the object of the unit that has an error. It is zero if none has.
func (u *unit) fault() manifest.Key {
	cause := u.failed
	for other := range u.noted {
		if cause.IsZero() || manifest.CompareKeys(other, cause) < 0 {
			cause = other
		}
	}
	return cause
}

// blamesOthers reports whether each noted error of the unit names an edited object of another unit that is taken back. The
// parameter named has the units that are, by the names of their edited objects.
func (u *unit) blamesOthers(named map[string][]*unit) bool {
	another := func(other *unit) bool { return other != u }
	for _, noted := range u.noted {
		for _, p := range noted {
			if !slices.ContainsFunc(store.Words(p.Message), func(word string) bool { return slices.ContainsFunc(named[word], another) }) {
				return false
			}
		}
	}
	return true
}

// unitsOf returns the edits in units, in the order of their first edits. The parameter renamed is the result of
// renamesAmong, faulty has edits that are held because gatefold fails at them, and folder has the invalid texts. If through
// is true, edits are also tied by policies that are not edited. That looks at all policies of their namespaces, so it is
// left out where no edit has an error.
func unitsOf(edits []store.Edit, renamed map[manifest.Key]manifest.Key, faulty map[manifest.Key]store.Held, folder *store.Store, through bool) []*unit {
	t := newTying(edits)
	for from, to := range renamed {
		t.tie(from, to)
	}
	if through {
		for _, policy := range folder.ServedIn(t.namespaces, isPolicy) {
			t.byContent(policy)
		}
	}
	var failed []manifest.Key
	for key, held := range faulty {
		t.byContent(folder.Served(key))
		t.byContent(held.Candidate)
		failed = append(failed, key)
	}
	for _, all := range folder.Failures(t.namespaces) {
		for _, key := range all {
			t.byContent(folder.Served(key))
			t.byWords(key, folder.WordsOf(key))
		}
		failed = append(failed, all...)
	}
	for namespace := range t.namespaces {
		for _, text := range folder.Texts(namespace) {
			key := manifest.Key{Namespace: namespace, Name: text.Place}
			t.byWords(key, text.Words)
			failed = append(failed, key)
		}
	}
	byGroup, units := map[manifest.Key]*unit{}, []*unit(nil)
	for _, e := range edits {
		group := t.find(e.Key)
		if byGroup[group] == nil {
			byGroup[group] = &unit{}
			units = append(units, byGroup[group])
		}
		byGroup[group].edits = append(byGroup[group].edits, e)
	}
	slices.SortFunc(failed, manifest.CompareKeys)
	for _, key := range failed {
		u := byGroup[t.find(key)]
		if u == nil {
			continue
		}
		if u.failed.IsZero() {
			u.failed = key
		}
		if key.Kind == "" {
			u.texts = append(u.texts, key.Name)
		}
	}
	return units
}

// tying finds which objects belong together.
type tying struct {
	group      map[manifest.Key]manifest.Key // an object of the same group; absent for the one that names the group
	namespaces map[string]bool               // of the edits, but ""
	// named has the objects to which a text ties that has their names as words: edited ones, and those that edited policies
	// and routes name.
	named map[manifest.Key][]manifest.Key // by namespace and name alone
}

// newTying returns a tying that has tied the edits by their contents.
func newTying(edits []store.Edit) tying {
	t := tying{group: map[manifest.Key]manifest.Key{}, namespaces: map[string]bool{}, named: map[manifest.Key][]manifest.Key{}}
	name := func(key manifest.Key) {
		at := manifest.Key{Namespace: key.Namespace, Name: key.Name}
		if !slices.Contains(t.named[at], key) {
			t.named[at] = append(t.named[at], key)
		}
	}
	for _, e := range edits {
		if e.Key.Namespace != "" {
			t.namespaces[e.Key.Namespace] = true
		}
		if isPolicy(e.Key) || isRoute(e.Key) {
			name(e.Key)
		}
		for _, version := range []*manifest.Object{e.Before, e.After} {
			if version == nil {
				continue
			}
			t.byContent(version)
			for _, key := range slices.Concat(store.NamedTargets(version), extensions(version)) {
				name(key)
			}
		}
	}
	return t
}

// find returns the object that names the group of an object.
func (t tying) find(key manifest.Key) manifest.Key {
	for {
		next, ok := t.group[key]
		if !ok {
			return key
		}
		key = next
	}
}

// tie puts two objects into one group.
func (t tying) tie(a, b manifest.Key) {
	if a, b = t.find(a), t.find(b); a != b {
		t.group[a] = b
	}
}

// byContent ties an object to those that it names: a policy that protects to its targets, a route to the policies in its
// filters.
func (t tying) byContent(o *manifest.Object) {
	if o == nil {
		return
	}
	if protects(o) {
		for _, target := range store.NamedTargets(o) {
			t.tie(o.Key, target)
		}
	}
	for _, extension := range extensions(o) {
		t.tie(o.Key, extension)
	}
}

// extensions returns the TrafficPolicies that the filters of a route name.
func extensions(o *manifest.Object) (keys []manifest.Key) {
	for _, rule := range route.Rules(o) {
		for _, filter := range rule.Filters {
			if ref := filter.ExtensionRef; ref != nil && route.IsTrafficPolicy(ref) {
				keys = append(keys, manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: o.Key.Namespace, Name: string(ref.Name)})
			}
		}
	}
	return keys
}

// byWords ties an object whose text is invalid, or a text that cannot be parsed, to what its words name: a policy to routes
// and other targets, a route to policies, a text to all of these.
func (t tying) byWords(failed manifest.Key, words []string) {
	if failed.Kind != "" && !isPolicy(failed) && !isRoute(failed) {
		return
	}
	for _, word := range words {
		for _, key := range t.named[manifest.Key{Namespace: failed.Namespace, Name: word}] {
			if failed.Kind == "" || isPolicy(failed) != isPolicy(key) {
				t.tie(failed, key)
			}
		}
	}
}

// protects reports whether an object, which may be nil, is a policy that may protect its targets.
func protects(o *manifest.Object) bool {
	if o == nil {
		return false
	}
	switch value := o.Value.(type) {
	case *api.TrafficPolicy:
		return policy.Protects(&value.Spec)
	case *gwv1.BackendTLSPolicy:
		return true
	}
	return false
}

// isPolicy reports whether a key is that of a policy that may protect.
func isPolicy(key manifest.Key) bool {
	return key.Kind == api.KindTrafficPolicy || key.Kind == "BackendTLSPolicy"
}

// isRoute reports whether a key is that of a route.
func isRoute(key manifest.Key) bool {
	return slices.ContainsFunc(route.Kinds(), func(kind route.Kind) bool { return kind.Name == key.Kind })
}
