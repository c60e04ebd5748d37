package delta

import (
	"maps"
	"slices"
	"strings"
)

// roll is the set of names and versions of one type that a target had at one time. It never changes. Streams
// whose Envoys have nearly the same set share a roll, so that each stream does not need 10,000 names and
// versions of its own.
type roll struct {
	versions map[string]string // by name
	names    []string          // sorted
}

// rollAndChanges has the newest roll (a shared set of names and versions) of a target for one type of resources. The
// field since has the names of the resources that changed after this roll was made.
type rollAndChanges struct {
	*roll
	since map[string]struct{}
}

// bulk is the minimum length of a list that overlay.take and ledger.markAll keep as a whole. They copy the names of a
// shorter list one by one.
const bulk = 64

// slack returns how many names may change before the roll r (a shared set of names and versions) is replaced. If more
// names changed since r was made, a Target makes a new roll (see outdate). An overlay gets r as its new base only if
// its unshared names have grown by at least slack (see due). The number is so high that making rolls adds little to
// the cost of each change.
func (r *roll) slack() int { return bulk + len(r.names)/16 }

// newestRoll returns the newest roll (a shared set of names and versions) of a type of resources. If the target has
// no roll of this type, newestRoll makes one from the current resources.
func (t *Target) newestRoll(typ string) rollAndChanges {
	if r, ok := t.rolls[typ]; ok {
		return r
	}
	r := &roll{versions: make(map[string]string, len(t.resources[typ]))}
	for name := range t.resources[typ] {
		r.versions[name] = t.Entry(typ, name).Version
	}
	r.names = slices.Sorted(maps.Keys(r.versions))
	t.rolls[typ] = rollAndChanges{r, map[string]struct{}{}}
	return t.rolls[typ]
}

// outdate records that the resource of a name changed since the newest roll (the shared set of names and
// versions) of its type was made. After more changes than slack allows, it drops the roll, and the next call of
// newestRoll makes a new one.
func (t *Target) outdate(typ, name string) {
	r, ok := t.rolls[typ]
	if !ok {
		return
	}
	if r.since[name] = struct{}{}; len(r.since) > r.slack() {
		delete(t.rolls, typ)
	}
}

// overlay maps names to versions in little memory. Most names are in shared data: the roll base, and the lists in
// runs, which override base. The fields own and removed are what the overlay itself has in addition, and they
// override the shared data. The zero value is empty.
type overlay struct {
	base    *roll               // nil if there is none
	own     map[string]string   // names that base and runs do not have, or have with another version
	removed map[string]struct{} // names of base or runs that the overlay does not have
	runs    [][]*Entry          // lists sorted by name, which never change; a later list overrides earlier lists
	// size is the number of names.
	size int
	// bare is true if only the names count. Then own has no name that the shared data has, even with another version.
	bare bool
	// unsharedBefore is what unshared returned when the overlay was rebased last.
	unsharedBefore int
}

// get returns a name's version. ok is false if the overlay does not have the name.
func (o *overlay) get(name string) (version string, ok bool) {
	if version, ok = o.own[name]; ok {
		return version, true
	}
	if _, gone := o.removed[name]; gone {
		return "", false
	}
	return o.under(name)
}

// under returns the version that a name has in the shared data of the overlay (base and runs), without regard to
// the overlay's own changes (own and removed). ok is false if the shared data does not have the name.
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

// has reports whether the overlay has a name.
func (o *overlay) has(name string) bool {
	_, ok := o.get(name)
	return ok
}

// findEntry returns the index of a name in a sorted list, and whether the list has it.
func findEntry(run []*Entry, name string) (int, bool) {
	if len(run) == 0 || name < run[0].Name || name > run[len(run)-1].Name {
		return 0, false
	}
	return slices.BinarySearchFunc(run, name, func(e *Entry, name string) int { return strings.Compare(e.Name, name) })
}

// set adds a name, or replaces its version.
func (o *overlay) set(name, version string) {
	if !o.has(name) {
		o.size++
	}
	delete(o.removed, name)
	if under, ok := o.under(name); ok && (o.bare || under == version) {
		delete(o.own, name)
		return
	}
	if o.own == nil {
		o.own = map[string]string{}
	}
	o.own[name] = version
}

// take adds the names and versions of a sorted list (run). The overlay may keep the list, so that the caller
// must not change it afterwards.
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
		delete(o.removed, e.Name)
	}
	o.runs = append(o.runs, run)
}

// remove removes a name, if the overlay has it.
func (o *overlay) remove(name string) {
	if !o.has(name) {
		return
	}
	o.size--
	delete(o.own, name)
	if _, ok := o.under(name); ok {
		if o.removed == nil {
			o.removed = map[string]struct{}{}
		}
		o.removed[name] = struct{}{}
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
		_, less := o.removed[name]
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

// unshared returns the memory that the overlay does not share with other streams, as a number of names. A name
// in several lists counts several times.
func (o *overlay) unshared() int {
	count := len(o.own) + len(o.removed)
	for _, run := range o.runs {
		count += len(run)
	}
	return count
}

// due returns the roll that the overlay should get as its new base, to save memory: the newest roll of the target for
// this type. It returns nil if the overlay should keep its base. A change of the base reads the whole overlay, so it
// must not happen often. All of these conditions must hold for a change:
//   - The field t.known is true.
//   - The number of unshared names (see unshared) has at least doubled since the last change of the base.
//   - The number has also grown by at least bulk, and by at least the result of slack for the new roll.
func (o *overlay) due(t *Target, typ string) *roll {
	if unshared := o.unshared(); !t.known || unshared < o.unsharedBefore+max(bulk, o.unsharedBefore) {
		return nil
	}
	if on := t.newestRoll(typ).roll; o.unshared() >= o.unsharedBefore+on.slack() {
		return on
	}
	return nil
}

// onto returns an overlay with the same names and versions as o. The parameter on is the roll that becomes the new
// base: the result has only the differences from it. If that does not save memory, onto returns the result of
// folded. It does not change o.
func (o *overlay) onto(on *roll) overlay {
	laid := overlay{base: on, size: o.size, bare: o.bare}
	shared := 0
	for name, version := range on.versions {
		got, ok := o.get(name)
		switch {
		case !ok:
			if laid.removed == nil {
				laid.removed = map[string]struct{}{}
			}
			laid.removed[name] = struct{}{}
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
	if laid.unshared() >= o.unshared() {
		laid = o.folded()
	}
	laid.unsharedBefore = laid.unshared()
	return laid
}

// maxRuns bounds how many lists an overlay keeps, because a look-up of a name searches each of them.
const maxRuns = 64

// folded returns a copy of the overlay. If the overlay has more than maxRuns lists in the field runs, the copy has
// no lists: folded puts the names of the lists into the copy's field own, which is a map.
func (o *overlay) folded() overlay {
	out := *o
	if len(o.runs) <= maxRuns {
		return out
	}
	out.own, out.runs = map[string]string{}, nil
	for _, run := range o.runs {
		for _, e := range run {
			if _, gone := o.removed[e.Name]; !gone {
				out.own[e.Name] = e.Version
			}
		}
	}
	maps.Copy(out.own, o.own)
	return out
}
