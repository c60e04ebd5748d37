package store

import (
	"maps"
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

// fresh says which lists still hold, and of which keys they speak.
type fresh struct {
	sure    bool                      // that standing.problems would make the same list
	targets map[manifest.Key]struct{} // that problems of invalid policies name
	placed  bool                      // that standing.locate would make the same list
	objects map[manifest.Key]struct{} // whose places are in that one
}

// problemLists makes the lists of problems and of stale objects, and has those that it gave last.
type problemLists struct {
	prefix  string // Options.PathPrefix
	sources *sources
	serving *serving
	fresh   *fresh

	own        []manifest.Problem // of problems
	lastStale  []Stale            // of stale
	ignored    []Ignored          // what Change.Ignored says
	selections map[string]*selection

	asked, located []manifest.Problem // of locate
	places         map[spot]manifest.Problem
}

func newProblemLists(prefix string, of *serving) *problemLists {
	return &problemLists{prefix: prefix, sources: of.sources, serving: of, fresh: of.fresh, selections: map[string]*selection{}}
}

// problems returns all that stands, sorted. It is the list of before where nothing in it
// changed.
func (s *problemLists) problems() []manifest.Problem {
	if s.fresh.sure {
		return s.own
	}
	all := fileProblems(s.sources.flawed)
	all = append(all, s.contests()...)
	all = append(all, s.outsideProblems()...)
	all = append(all, s.keptProblems()...)
	all = append(all, s.sharedPorts()...)
	all = append(all, s.mistakeProblems()...)
	manifest.SortProblems(all)
	stale := s.staleOf(all)
	s.addConsequences(all)
	s.fresh.sure = true
	s.ignored, _ = foreignKinds(s.sources.flawed)
	if !slices.Equal(all, s.own) {
		s.own = slices.Clip(all)
	}
	if !slices.EqualFunc(stale, s.lastStale, Stale.Equal) {
		s.lastStale = stale
	}
	return s.own
}

// problemsFrozen returns the problems that stand while a Tree is held: those of
// the Tree where it was its documents that are at fault, else those before.
func (s *problemLists) problemsFrozen(why manifest.Problem, edits []edit) []manifest.Problem {
	if why.Code == folderEmptied || why.Code == folderMissing {
		all := slices.Concat(s.problems(), []manifest.Problem{why})
		manifest.SortProblems(all)
		return all
	}
	flawed := maps.Clone(s.sources.flawed)
	for _, e := range edits {
		delete(flawed, e.path)
		if e.after != nil && e.after.flawed() {
			flawed[e.path] = e.after
		}
	}
	all := append(fileProblems(flawed), why)
	manifest.SortProblems(all)
	return all
}
