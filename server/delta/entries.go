package delta

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

// entries are resources of one type, each with a name of its own. They never change: what a thousand Envoys hold is
// the set of the snapshot that all of them were sent, and what a stream has of its own are the nodes on the way to
// what differs. The zero entries are empty.
type entries struct{ ordered.Set[*Entry] }

// byName is the order of entries.
func byName(a, b *Entry) int { return strings.Compare(a.Name, b.Name) }

// stub is an entry of which only the name and, if it matters, the version are known.
func stub(name, version string) *Entry {
	return &Entry{Resource: &xds.Resource{Name: name, Version: version}}
}

// get returns the entry of a name, nil if there is none.
func (s entries) get(name string) *Entry {
	e, _ := s.Get(func(e *Entry) int { return strings.Compare(e.Name, name) })
	return e
}

// has reports whether there is an entry of this name.
func (s entries) has(name string) bool { return s.get(name) != nil }

// with returns the entries with e in place of that of the same name.
func (s entries) with(e *Entry) entries {
	if s.Len() == 0 {
		return entries{ordered.FromSorted(byName, []*Entry{e})}
	}
	return entries{s.Insert(e)}
}

// without returns the entries without that of a name.
func (s entries) without(name string) entries {
	if e := s.get(name); e != nil {
		return entries{s.Delete(e)}
	}
	return s
}

// through returns the entries up to the name of e, and those after it.
func (s entries) through(e *Entry) (upTo, after entries) {
	low, high := s.Split(e)
	if last, ok := high.Get(func(other *Entry) int { return byName(other, e) }); ok {
		low, high = low.Insert(last), high.Delete(last)
	}
	return entries{low}, entries{high}
}

// bulk is how many entries may differ between a small set and base if the set is kept as base and what differs.
const bulk = 64

// few is the length of a list of which take copies the items one by one.
const few = 8

// take returns the entries with those of a sorted list in place of those of the same names. If the list has all that
// base has between the first name and the last, these nodes are shared with base.
func (s entries) take(list []*Entry, base entries) entries {
	if len(list) == 0 {
		return s
	}
	first, last := list[0], list[len(list)-1]
	var before, within, after entries
	if s.Len() > 0 {
		low, rest := s.Split(first)
		within, after = entries{rest}.through(last)
		before = entries{low}
	}
	if len(list) <= few && s.Len() > 0 || within.Len() > len(list) {
		for _, e := range list {
			s = s.with(e)
		}
		return s
	}
	part := base.between(list)
	for e := range within.All() {
		if _, replaced := slices.BinarySearchFunc(list, e, byName); !replaced {
			part = part.with(e)
		}
	}
	if before.Len() == 0 {
		return entries{part.Join(after.Set)}
	}
	return entries{before.Join(part.Join(after.Set))}
}

// between returns the entries of a sorted list: those of s, if s has the same ones from the first to the last.
func (s entries) between(list []*Entry) entries {
	if s.Len() >= len(list) {
		_, rest := s.Split(list[0])
		part, _ := entries{rest}.through(list[len(list)-1])
		if part.Len() == len(list) && slices.Equal(slices.Collect(part.All()), list) {
			return part
		}
	}
	return entries{ordered.FromSorted(byName, list)}
}

// onto returns the entries as base and what differs from it, so that the rest is shared with base. An entry of base
// stands for that of the same name and version. If bare is true, only the names count. If too much differs to share,
// onto returns s.
func (s entries) onto(base entries, bare bool) entries {
	bound := bulk + base.Len()/16
	if s.Len() == 0 || s.Same(base.Set) || max(s.Len(), base.Len())-min(s.Len(), base.Len()) > bound {
		return s
	}
	var own, gone []*Entry
	for have, of := range ordered.Diff(s.Set, base.Set) {
		switch {
		case have == nil:
			gone = append(gone, of)
		case of == nil && bare:
			own = append(own, stub(have.Name, ""))
		case of == nil || !bare && have.Version != of.Version:
			own = append(own, have)
		}
		if len(own)+len(gone) > bound {
			return s
		}
	}
	out := base
	for _, e := range own {
		out = out.with(e)
	}
	for _, e := range gone {
		out = out.without(e.Name)
	}
	return out
}

// sharing returns base if s has the same entries, and s else.
func (s entries) sharing(base entries) entries {
	for range ordered.Diff(s.Set, base.Set) {
		return s
	}
	return base
}

// minus returns the entries without those of a sorted list of names. If it is all between the first and the last of
// them, that costs no more than the removal of one.
func (s entries) minus(names []string) entries {
	if len(names) > few && s.Len() > 0 {
		low, rest := s.Split(stub(names[0], ""))
		within, after := entries{rest}.through(stub(names[len(names)-1], ""))
		if within.Len() <= len(names) {
			if kept := within.minusEach(names); kept.Len() > 0 {
				return entries{low.Join(kept.Join(after.Set))}
			}
			return entries{low.Join(after.Set)}
		}
	}
	return s.minusEach(names)
}

// minusEach returns the entries without those of a sorted list of names, which it removes one by one.
func (s entries) minusEach(names []string) entries {
	if s.Len() == len(names) && slices.EqualFunc(slices.Collect(s.All()), names, func(e *Entry, name string) bool { return e.Name == name }) {
		return entries{}
	}
	for _, name := range names {
		s = s.without(name)
	}
	return s
}

// lists reports whether a sorted list has an entry of this name.
func lists(list []*Entry, name string) bool {
	if len(list) == 0 || name < list[0].Name || name > list[len(list)-1].Name {
		return false
	}
	_, is := slices.BinarySearchFunc(list, name, func(e *Entry, name string) int { return strings.Compare(e.Name, name) })
	return is
}
