package store

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// Most edits change no problem. A list of problems is kept until something changes on which it depends. So an
// edit does not take longer if there are many problems.

// SameProblems reports whether two lists are the same slice in memory, or are both empty. If it returns false,
// the lists may still have equal elements.
func SameProblems(a, b []manifest.Problem) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// fresh records whether the lists of problemLists are up to date, and on which keys the lists depend.
type fresh struct {
	sure    bool                      // the list of problemLists.problems is up to date
	targets map[manifest.Key]struct{} // targets that problems of invalid policies name
	placed  bool                      // the list of problemLists.locateAll is up to date
	objects map[manifest.Key]struct{} // objects whose places are in that list
}

// problemLists makes the lists of problems and of stale objects, and keeps the last lists.
type problemLists struct {
	prefix  string // Options.PathPrefix
	sources *sources
	serving *serving
	fresh   *fresh

	own        []manifest.Problem // the last result of problems
	lastStale  []Stale            // the last result of stale
	ignored    []Ignored          // for Change.Ignored
	selections map[string]*selection

	asked, located []manifest.Problem // the last argument and result of locateAll
	places         map[spot]manifest.Problem
}

func newProblemLists(prefix string, of *serving) *problemLists {
	return &problemLists{prefix: prefix, sources: of.sources, serving: of, fresh: of.fresh, selections: map[string]*selection{}}
}

// problems returns all problems, sorted, and updates the lists of stale objects and ignored kinds. If no
// problem changed, it returns the same slice as before.
func (s *problemLists) problems() []manifest.Problem {
	if s.fresh.sure {
		return s.own
	}
	all := s.plain()
	stale := s.staleOf(all)
	s.addConsequences(all)
	s.nameBackends(all)
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

// plain returns all problems, sorted, without what they mean for traffic (addConsequences).
func (s *problemLists) plain() []manifest.Problem {
	all := fileProblems(s.sources.flawed, s.serving.kept)
	all = append(all, s.contests()...)
	all = append(all, s.outsideProblems()...)
	all = append(all, s.keptProblems()...)
	all = append(all, s.serving.heldProblems()...)
	all = append(all, s.sharedPorts()...)
	all = append(all, s.mistakeProblems()...)
	manifest.SortProblems(all)
	return all
}

// problemsFrozen returns all problems while the folder is frozen, sorted. The parameter why is the problem that
// freezes the folder. If the folder is missing or empty, the result also has the problems of the last applied
// Tree. Otherwise it also has the problems of the files as they are in the new Tree.
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
	all := append(fileProblems(flawed, s.serving.kept), why)
	manifest.SortProblems(all)
	return all
}
