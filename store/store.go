// Package store turns a watcher.Tree into a Change. It splits files into documents, and reads and validates the
// documents that changed. It keeps the last valid version of every object. Each mistake in the user's files is
// a manifest.Problem.
//
// A Store has four parts, and each part reads only the parts before it. The fence decides by path policies
// which definitions may be served. sources has the files as they were last read. serving decides which object
// is served under each key. problemLists makes the lists of problems and of stale objects.
//
// A Tree is applied only if the folder is not frozen.
package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/watcher"
)

// Store turns Trees into Changes, and keeps the last valid version of each object. Only one goroutine may use
// it.
type Store struct {
	options      Options
	fence        *fence
	sources      *sources
	serving      *serving
	history      *history // the same as serving.history
	saves        *saves   // the same as serving.saves
	problemLists *problemLists
	digest       digest

	allowEmpty bool // AllowEmpty was called since the last Tree
}

// New returns an empty Store. It returns an error if the embedded schemas are invalid.
func New(options Options) (*Store, error) {
	options.Limits.Documents = cmp.Or(options.Limits.Documents, 20_000)
	options.Limits.Objects = cmp.Or(options.Limits.Objects, 500_000)
	schemas, err := schema.Load()
	if err != nil {
		return nil, fmt.Errorf("load schemas: %w", err)
	}
	files := newSources(options, schemas)
	objects := newServing(options, files)
	return &Store{
		options: options, fence: files.fence, sources: files,
		serving: objects, history: objects.history, saves: objects.saves, problemLists: newProblemLists(options.PathPrefix, objects),
	}, nil
}

// AllowEmpty makes the Store apply the next Tree even if that Tree removes every object. Blank files keep nothing then.
func (s *Store) AllowEmpty() {
	s.allowEmpty = true
	for path, keys := range s.serving.kept {
		if f := s.sources.files[path]; f != nil && f.blank {
			maps.Copy(s.serving.unsettled, keys)
		}
	}
}

// Apply applies a Tree and returns what the Tree changed. It compares only files that the Tree does not share
// with the previous Tree. It splits only files whose hash changed, and parses only documents whose text
// changed. It uses all cores. For a folder without problems, the served objects depend only on this Tree.
func (s *Store) Apply(tree watcher.Tree) Change {
	change, _ := s.ApplyUntil(context.Background(), tree, func() bool { return false })
	return change
}

// ApplyUntil is Apply that can be interrupted. If ctx ends before the Tree is read, it returns the error of ctx and
// applies nothing. The function newer reports whether a newer Tree waits. If it returns true before the Tree is read,
// ApplyUntil applies the changed files of namespaces that are read, and leaves the others for the next Apply
// (Change.Waiting). If that is nothing, or if without the others the folder would be frozen (freeze), it returns ErrNewer
// and applies nothing. Several goroutines may call newer at the same time.
func (s *Store) ApplyUntil(ctx context.Context, tree watcher.Tree, newer func() bool) (Change, error) {
	tree = s.sources.unrendered.strip(tree, func(file string) bool { return s.fence.sourceOf(file) != manifest.OtherFile })
	edits, waiting, stats, err := s.read(ctx, tree, newer)
	if err != nil {
		return Change{}, err
	}
	tree = s.sources.without(tree, waiting)
	next := s.sources.tally
	for _, e := range edits {
		next = next.minus(e.before).plus(e.after)
	}
	problem, held := s.freeze(tree, next)
	if !held {
		problem, held = s.freezeForPolicies(tree.Root, edits, next)
	}
	if held && len(waiting) > 0 { // it may not be frozen with the files that wait
		return Change{}, ErrNewer
	}
	s.serving.allowEmpty, s.allowEmpty = s.allowEmpty, false
	if held {
		stats.Objects = len(s.serving.served)
		s.addMissingSecrets(&problem)
		set := s.restoredObjects()
		return Change{Set: set, Restored: len(set) > 0, Hold: frozen(problem), Problems: s.problemLists.problemsFrozen(problem, edits), Stale: s.problemLists.stale(), Stats: stats}, nil
	}
	change := s.adopt(edits, tree.Noticed)
	s.sources.taken, s.sources.tally = tree, next
	stats.Objects = len(s.serving.served)
	change.Stats = stats
	for _, e := range waiting {
		change.Waiting = append(change.Waiting, e.path)
	}
	change.Problems, change.Stale = s.problemLists.problems(), s.problemLists.stale()
	change.Ignored = s.problemLists.ignored
	return change, nil
}

// The codes of problems that freeze the folder (Store.freeze).
const (
	folderEmptied  = "FolderEmptied"
	folderMissing  = "FolderMissing"
	tooManyObjects = "TooManyObjects"
)

// freeze returns true and a problem if the Tree must not be applied. It does not apply a missing or empty
// folder while objects are served, unless AllowEmpty was called. It does not apply a folder with more objects
// than Options.Limits allows. The parameter next has the counts of the Tree.
func (s *Store) freeze(tree watcher.Tree, next tally) (p manifest.Problem, held bool) {
	p = manifest.Problem{Severity: manifest.Error, File: tree.Root}
	serving := len(s.serving.served)
	emptied := next.documents == 0 && len(tree.Skipped) == 0
	switch {
	case tree.Missing && serving > 0 && !s.allowEmpty:
		p.Code = folderMissing
		p.Message = fmt.Sprintf("folder %s is missing; gatefold still serves its last %s", tree.Root, counted(serving))
		p.Hint = "restore the folder, or run `gatefold reload --allow-empty` to serve nothing"
	case emptied && !tree.Missing && serving > 0 && !s.allowEmpty:
		p.Code = folderEmptied
		p.Message = fmt.Sprintf("folder %s is empty; gatefold still serves its last %s", tree.Root, counted(serving))
		p.Hint = "restore the files, or run `gatefold reload --allow-empty` to serve nothing"
	case next.objects > s.options.Limits.Objects:
		p.Code = tooManyObjects
		p.Message = fmt.Sprintf("the folder holds %d objects, and at most %d are allowed; gatefold still serves the last valid folder", next.objects, s.options.Limits.Objects)
	default:
		return manifest.Problem{}, false
	}
	return p, true
}

// counted returns "1 object", or for example "8 objects".
func counted(objects int) string {
	if objects == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", objects)
}

// frozen returns the message and hint of a problem as sentences of one paragraph.
func frozen(why manifest.Problem) string {
	if why.Hint == "" {
		return why.Message
	}
	return why.Message + ". " + strings.ToUpper(why.Hint[:1]) + why.Hint[1:]
}

// adopt applies the edits to the Store and returns what they change. The parameter now is the time from which
// newly stale objects are kept.
func (s *Store) adopt(edits []edit, now time.Time) Change {
	touched := map[manifest.Key]struct{}{}
	for _, e := range edits {
		if s.sources.replace(e) {
			s.serving.fresh.sure = false
		}
		if e.before.makesSecrets() || e.after.makesSecrets() {
			s.serving.fresh.placed = false
		}
		s.serving.replace(e, touched)
	}
	maps.Copy(touched, s.serving.unsettled)
	clear(s.serving.unsettled)
	var change Change
	for key := range touched {
		if key.Namespace == "" { // path policies in Namespaces affect the other keys
			s.serving.settleSafely(key, now, &change)
		}
	}
	s.serving.declare(touched)
	arrived := s.serving.unserved(touched)
	moved := map[string]struct{}{} // files whose kept versions changed
	for key := range touched {
		if key.Namespace == "" {
			continue
		}
		delete(s.problemLists.selections, key.Namespace)
		if isNameless(key) {
			continue
		}
		before := s.serving.served[key]
		s.serving.settleSafely(key, now, &change)
		if after := s.serving.served[key]; after.kept != before.kept {
			moved[before.path()], moved[after.path()] = struct{}{}, struct{}{}
		}
	}
	s.serving.touchNameless(moved, touched)
	for key := range touched {
		if key.Namespace != "" && isNameless(key) {
			s.serving.settleSafely(key, now, &change)
		}
	}
	s.serving.closeUnreadable(arrived, &change)
	s.completeRestored(&change, now)
	slices.SortFunc(change.Set, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	slices.SortFunc(change.Gone, manifest.CompareKeys)
	slices.SortFunc(change.Invalid, compareInvalid)
	return change
}
