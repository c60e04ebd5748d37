package store

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// Most edits change no problem. A list of problems is kept until something that it depends
// on changes, so that an edit does not cost the number of all problems.

// SameProblems reports whether two lists are the same slice in memory. false does not mean that
// they differ.
func SameProblems(a, b []manifest.Problem) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// fresh tracks which lists are still valid, and which keys they depend on.
type fresh struct {
	sure    bool                      // problemLists.problems would make the same list
	targets map[manifest.Key]struct{} // targets that problems of invalid policies name
	placed  bool                      // problemLists.locate would make the same list
	objects map[manifest.Key]struct{} // objects whose places are in that list
}

// problemLists makes the lists of problems and of stale objects, and keeps the last lists.
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

// problems returns all problems, sorted. It returns the previous list if none changed.
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

// problemsFrozen returns the problems while the folder is frozen. If documents of the new Tree are
// the reason, these are the problems of the new Tree, else those of the last applied one.
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
