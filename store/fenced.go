package store

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatefold/gatefold/store/fence"
)

// Which definitions may serve is a matter of their files (package fence). One
// that the fence refuses is read, and told of as a problem, but never stands
// beside those that may serve: it takes nothing over, and hinders nothing.

const kindNamespace = "Namespace"

// fenceOf gives the globs of a Namespace; ok is false for one without. The
// schema has seen that they can be read.
func fenceOf(o *Object) (globs fence.Globs, ok bool) {
	namespace, is := As[*corev1.Namespace](o)
	if !is {
		return nil, false
	}
	text, ok := namespace.Annotations[fence.Annotation]
	if !ok {
		return nil, false
	}
	globs, err := fence.Parse(text)
	return globs, err == nil
}

// refuse judges a definition.
func (s *Store) refuse(d *definition) fence.Refusal {
	return s.fence.Refuse(d.file.path, d.object.Key.Namespace)
}

// admits tells whether the file may define the key.
func (s *Store) admits(file string, key Key) bool {
	return s.fence.Refuse(file, key.Namespace) == fence.Refusal{}
}

// inside gives the definitions that the fence lets serve, and notes whether
// there are others.
func (s *Store) inside(key Key, definitions []*definition) []*definition {
	delete(s.outside, key)
	if !slices.ContainsFunc(definitions, func(d *definition) bool { return !s.admits(d.file.path, key) }) {
		return definitions
	}
	s.outside[key] = struct{}{}
	return slices.DeleteFunc(slices.Clone(definitions), func(d *definition) bool { return !s.admits(d.file.path, key) })
}

// raise brings the fence up to the Namespaces that serve now, and adds the keys
// on which it judges anew to touched. Namespaces among touched are settled.
func (s *Store) raise(touched map[Key]struct{}) {
	clear(s.trespassing)
	stood, changed := s.fence.Stands(), map[string]bool{}
	for key := range touched {
		if key.Kind != kindNamespace || key.Group != "" {
			continue
		}
		at, serves := s.served[key]
		globs, _ := fenceOf(at.object)
		if serves && s.fence.Declare(key.Name, globs) || !serves && s.fence.Forget(key.Name) {
			changed[key.Name] = true
		}
	}
	all := stood != s.fence.Stands()
	if len(changed) == 0 {
		return
	}
	judge := func(key Key) {
		if key.Namespace != "" && (all || changed[key.Namespace]) {
			touched[key] = struct{}{}
		}
	}
	for key := range s.found {
		judge(key)
	}
	for key := range s.refusals {
		judge(key)
	}
	for _, keys := range s.kept {
		for key := range keys {
			judge(key)
		}
	}
}

// holdsOutside tells whether a file defines something that the fence refuses:
// as a broken file does, it keeps what it gave before.
func (s *Store) holdsOutside(f *file) bool {
	holds, known := s.trespassing[f]
	if !known {
		holds = slices.ContainsFunc(f.definitions, func(d *definition) bool { return !s.admits(f.path, d.object.Key) })
		s.trespassing[f] = holds
	}
	return holds
}

// maxOutside bounds what is listed of one file's objects outside the fence.
const maxOutside = 50

// outsideProblems tells of the definitions that the fence refuses.
func (s *Store) outsideProblems() []Problem {
	byFile := map[*file][]*definition{}
	for key := range s.outside {
		for _, d := range s.found[key] {
			if !s.admits(d.file.path, key) {
				byFile[d.file] = append(byFile[d.file], d)
			}
		}
	}
	var all []Problem
	for f, refused := range byFile {
		slices.SortFunc(refused, func(a, b *definition) int { return cmp.Compare(a.order, b.order) })
		for _, d := range refused[:min(len(refused), maxOutside)] {
			all = append(all, s.outsideProblem(d))
		}
		if more := len(refused) - maxOutside; more > 0 {
			all = append(all, Problem{
				Code: "MoreProblems", Severity: Error, File: f.path,
				Message: fmt.Sprintf("the file has %d objects more that it may not define, which are not listed", more),
			})
		}
	}
	return all
}

func (s *Store) outsideProblem(d *definition) Problem {
	refusal := s.refuse(d)
	p := Problem{
		Code: "OutsideFence", Severity: Error, File: d.file.path, Line: d.line(), Column: d.place.column,
		Object: d.object.Key, Field: "metadata.name", Message: refusal.Message, Hint: refusal.Hint,
	}
	if at, serves := s.served[d.object.Key]; serves {
		p.Message += fmt.Sprintf("; the one of %s serves on", at.path())
	}
	if d.shows() {
		p.Excerpt = excerpt(d.document.text, d.place)
	}
	return p
}

// The codes of the problems for which a Tree is held on account of the fence.
const (
	clusterPathsMissing = "ClusterPathsMissing"
	clusterPathsBroken  = "ClusterPathsBroken"
)

// holdForFence says whether the fence cannot be known, so that taking the Tree
// could open what is meant to be shut.
func (s *Store) holdForFence(edits []edit, next tally) (p Problem, held bool) {
	switch {
	case next.fences > 0 && len(s.options.ClusterPaths) == 0:
		p = Problem{
			Code: clusterPathsMissing, Field: "metadata.annotations",
			Message: fmt.Sprintf("the annotation %s fences namespaces in, but any file may define Namespaces; what served before goes on serving", fence.Annotation),
			Hint:    "start gatefold with --cluster-paths, the files that may define Namespaces and GatewayClasses; or remove the annotation",
		}
		if d := s.firstFence(edits); d != nil {
			p.File, p.Line, p.Column, p.Object = d.file.path, d.line(), d.place.column, d.object.Key
		}
	case len(s.options.ClusterPaths) > 0 && len(s.served) == 0:
		i := slices.IndexFunc(edits, func(e edit) bool {
			return e.after != nil && (e.after.tally.broken > 0 || e.after.oddities().skipped != nil) && s.fence.Cluster(e.path)
		})
		if i < 0 {
			return Problem{}, false
		}
		p = Problem{
			Code: clusterPathsBroken, File: edits[i].path,
			Message: "a file of --cluster-paths cannot be read in whole, and nothing was served before: a fence may be missing, so nothing is taken",
			Hint:    "mend the errors of the file",
		}
	default:
		return Problem{}, false
	}
	p.Severity = Error
	return p, true
}

// firstFence gives the first Namespace with globs, in order of files.
func (s *Store) firstFence(edits []edit) (first *definition) {
	look := func(f *file) {
		if f == nil || f.tally.fences == 0 || first != nil && first.file.path <= f.path {
			return
		}
		for _, d := range f.definitions {
			if _, fences := fenceOf(d.object); fences {
				first = d
				return
			}
		}
	}
	edited := map[string]bool{}
	for _, e := range edits {
		edited[e.path] = true
		look(e.after)
	}
	for path, f := range s.files {
		if !edited[path] {
			look(f)
		}
	}
	return first
}
