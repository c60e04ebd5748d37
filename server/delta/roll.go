package delta

import (
	"maps"
	"slices"
	"strings"
)

// roll is the set of names and versions of one type that a target had at one time. It is immutable.
// Streams whose Envoys have nearly the same set share it, instead of 10,000 names and versions of
// their own.
type roll struct {
	versions map[string]string // by name
	names    []string          // sorted
}

// called is a target's newest roll of a type, and the changes since.
type called struct {
	*roll
	since map[string]struct{}
}

// bulk is from how many names on a list is kept as a whole, and not one by one.
const bulk = 64

// slack returns how many names a stream may differ from a roll before both are renewed. It is large
// enough that renewing a roll adds little to the cost of each change.
func (r *roll) slack() int { return bulk + len(r.names)/16 }

// call returns the newest roll of a type.
func (t *Target) call(typ string) called {
	if r, ok := t.rolls[typ]; ok {
		return r
	}
	r := &roll{versions: make(map[string]string, len(t.resources[typ]))}
	for name := range t.resources[typ] {
		r.versions[name] = t.Entry(typ, name).Version
	}
	r.names = slices.Sorted(maps.Keys(r.versions))
	t.rolls[typ] = called{r, map[string]struct{}{}}
	return t.rolls[typ]
}

// outdate notes that a name changed since the newest roll of its type.
func (t *Target) outdate(typ, name string) {
	r, ok := t.rolls[typ]
	if !ok {
		return
	}
	if r.since[name] = struct{}{}; len(r.since) > r.slack() {
		delete(t.rolls, typ)
	}
}

// overlay maps names to versions: a roll with differences. The zero value is empty.
type overlay struct {
	base *roll               // nil for none
	own  map[string]string   // that differ from base or are not in it
	less map[string]struct{} // in base or runs alone
	runs [][]*Entry          // sorted by name, never changed; a later one wins, over base too
	size int
	// bare is true if names alone count: no version differs from the roll's.
	bare bool
	// looseBefore is how loose it was when it was last laid on a roll.
	looseBefore int
}

// get returns a name's version. ok is false if the name is not there.
func (o *overlay) get(name string) (version string, ok bool) {
	if version, ok = o.own[name]; ok {
		return version, true
	}
	if _, gone := o.less[name]; gone {
		return "", false
	}
	return o.under(name)
}

// under returns a name's version without the differences own and less.
func (o *overlay) under(name string) (version string, ok bool) {
	for _, run := range slices.Backward(o.runs) {
		if at, found := findEntry(run, name); found {
			return run[at].Version, true
		}
	}
	if o.base != nil {
		version, ok = o.base.versions[name]
	}
	return version, ok
}

func (o *overlay) has(name string) bool {
	_, ok := o.get(name)
	return ok
}

// findEntry finds a name in a sorted list.
func findEntry(run []*Entry, name string) (int, bool) {
	if len(run) == 0 || name < run[0].Name || name > run[len(run)-1].Name {
		return 0, false
	}
	return slices.BinarySearchFunc(run, name, func(e *Entry, name string) int { return strings.Compare(e.Name, name) })
}

// set adds or replaces a name.
func (o *overlay) set(name, version string) {
	if !o.has(name) {
		o.size++
	}
	delete(o.less, name)
	if under, ok := o.under(name); ok && (o.bare || under == version) {
		delete(o.own, name)
		return
	}
	if o.own == nil {
		o.own = map[string]string{}
	}
	o.own[name] = version
}

// take adds a list that is sorted by name and must not change.
func (o *overlay) take(run []*Entry) {
	if len(run) < bulk {
		for _, e := range run {
			o.set(e.Name, e.Version)
		}
		return
	}
	for _, e := range run {
		if !o.has(e.Name) {
			o.size++
		}
		delete(o.own, e.Name)
		delete(o.less, e.Name)
	}
	o.runs = append(o.runs, run)
}

// remove removes a name.
func (o *overlay) remove(name string) {
	if !o.has(name) {
		return
	}
	o.size--
	delete(o.own, name)
	if _, ok := o.under(name); ok {
		if o.less == nil {
			o.less = map[string]struct{}{}
		}
		o.less[name] = struct{}{}
	}
}

// all yields every name with its version, in no order.
func (o *overlay) all(yield func(name, version string) bool) {
	for name, version := range o.own {
		if !yield(name, version) {
			return
		}
	}
	seen := map[string]struct{}{}
	fresh := func(name string) bool {
		_, own := o.own[name]
		_, less := o.less[name]
		_, before := seen[name]
		return !own && !less && !before
	}
	for _, run := range slices.Backward(o.runs) {
		for _, e := range run {
			if fresh(e.Name) && !yield(e.Name, e.Version) {
				return
			}
			seen[e.Name] = struct{}{}
		}
	}
	if o.base == nil {
		return
	}
	for name, version := range o.base.versions {
		if fresh(name) && !yield(name, version) {
			return
		}
	}
}

// loose counts the names that the overlay does not share.
func (o *overlay) loose() int {
	count := len(o.own) + len(o.less)
	for _, run := range o.runs {
		count += len(run)
	}
	return count
}

// due returns the target's newest roll of a type if the overlay should be rebased on it, else nil.
// That is so if the unshared part has doubled since the last time, and grown by a part of the roll.
// So the whole overlay is read once for each doubling.
func (o *overlay) due(t *Target, typ string) *roll {
	if loose := o.loose(); !t.known || loose < o.looseBefore+max(bulk, o.looseBefore) {
		return nil
	}
	if on := t.call(typ).roll; o.loose() >= o.looseBefore+on.slack() {
		return on
	}
	return nil
}

// onto returns the same names and versions as differences from another roll. It returns the overlay
// unchanged if that is no gain. It only reads the overlay.
func (o *overlay) onto(on *roll) overlay {
	laid := overlay{base: on, size: o.size, bare: o.bare}
	shared := 0
	for name, version := range on.versions {
		got, ok := o.get(name)
		switch {
		case !ok:
			if laid.less == nil {
				laid.less = map[string]struct{}{}
			}
			laid.less[name] = struct{}{}
			continue
		case got != version && !o.bare:
			if laid.own == nil {
				laid.own = map[string]string{}
			}
			laid.own[name] = got
		}
		shared++
	}
	if shared < o.size {
		laid.size = shared
		for name, version := range o.all {
			laid.set(name, version)
		}
	}
	if laid.loose() >= o.loose() {
		laid = o.folded()
	}
	laid.looseBefore = laid.loose()
	return laid
}

// maxRuns bounds how many lists an overlay keeps: each is looked through for every name.
const maxRuns = 64

// folded returns the overlay with long lists of lists merged.
func (o *overlay) folded() overlay {
	out := *o
	if len(o.runs) <= maxRuns {
		return out
	}
	out.own, out.runs = map[string]string{}, nil
	for _, run := range o.runs {
		for _, e := range run {
			if _, gone := o.less[e.Name]; !gone {
				out.own[e.Name] = e.Version
			}
		}
	}
	maps.Copy(out.own, o.own)
	return out
}
