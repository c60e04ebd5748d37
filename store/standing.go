package store

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// Most edits change no problem. For them to cost nothing where thousands stand, a list
// of problems lives until something that it speaks of changes.

// SameProblems reports whether two lists are the same slice in memory. false does not mean that
// they differ.
func SameProblems(a, b []manifest.Problem) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// standing holds the lists that a Store gave last.
type standing struct {
	own   []manifest.Problem // of problems
	stale []Stale            // that follow from own
	// ignored is what Change.Ignored says.
	ignored []Ignored
	sure    bool // that own is what problems would make now

	asked, located []manifest.Problem        // of Locate; located is nil when there is nothing to give again
	objects        map[manifest.Key]struct{} // whose places are in located
	targets        map[manifest.Key]struct{} // that problems of invalid policies name
}

// doubt drops the lists that speak of a key: what serves under it, or where, changes.
func (s *Store) doubt(key manifest.Key) {
	_, contested := s.contested[key]
	_, outside := s.outside[key]
	_, target := s.standing.targets[key]
	if contested || outside || target {
		s.standing.sure = false
	}
	if _, ok := s.standing.objects[key]; ok {
		s.standing.located = nil
	}
}

// problems returns all that stands, sorted. It is the list of before where nothing in it
// changed.
func (s *Store) problems() []manifest.Problem {
	if s.standing.sure {
		return s.standing.own
	}
	all := fileProblems(s.flawed)
	all = append(all, s.contests()...)
	all = append(all, s.outsideProblems()...)
	all = append(all, s.keptProblems()...)
	all = append(all, s.sharedPorts()...)
	all = append(all, s.mistakeProblems()...)
	manifest.SortProblems(all)
	stale := s.staleOf(all)
	s.tellConsequences(all)
	s.standing.sure = true
	s.standing.ignored, _ = foreignKinds(s.flawed)
	if !slices.Equal(all, s.standing.own) {
		s.standing.own = slices.Clip(all)
	}
	if !slices.EqualFunc(stale, s.standing.stale, Stale.Equal) {
		s.standing.stale = stale
	}
	return s.standing.own
}
