// Package store turns Trees into Changes: it splits files into documents,
// reads and validates those that changed, and keeps the last good version of
// every object. Whatever is wrong with the user's files is a Problem.
//
// A Store holds two things: the files as they were last read (file.go), and
// the objects that serve (serve.go). A Tree is first read aside; only when it
// is not held do its files take the place of the ones before.
package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/watcher"
)

// Options configure a Store.
type Options struct {
	// Strict applies no Tree that has an invalid document or an unread file. Otherwise only the
	// objects with mistakes keep their last valid version.
	Strict bool
	// Save makes the Store record what must be saved, for Unsaved; SaveSecrets includes the
	// content of Secrets.
	Save, SaveSecrets bool
	// ClusterPaths are the files that may define cluster-scoped objects and open ports. They
	// turn path policies on; nil means all files, without path policies.
	ClusterPaths tenancy.Globs
	// PathPrefix is put before the path of a file that a message names.
	PathPrefix string
	// Limits limit what is read; zero fields mean the defaults.
	Limits Limits
	// Progress, if set, is called now and then with how many of the documents of an Apply or a
	// Restore are read: first with 1, and at the end with all. Calls do not overlap.
	Progress func(done, of int)
}

// Limits limit a Tree (docs/design/safety.md). Each document is limited as well: in depth,
// aliases and number of values.
type Limits struct {
	Documents int // of one file; 20,000 by default
	Objects   int // of a Tree; 500,000 by default
}

// Store turns Trees into objects and keeps the last valid version of each. Only one goroutine
// may use it.
type Store struct {
	options Options
	reader  reader

	taken  watcher.Tree // the last that was not held, of which files was made
	files  map[string]*file
	flawed map[string]*file // those files that have problems or foreign kinds
	tally  tally            // of all files

	served    map[manifest.Key]served
	found     map[manifest.Key][]*definition // in order of file and place
	contested map[manifest.Key]struct{}      // keys with several definitions
	kept      map[string]map[manifest.Key]struct{}
	refusals  map[manifest.Key][]*refusal // those of a file together, in its order
	invalid   map[manifest.Key]*Invalid   // what Changes told of, where nothing serves
	outside   map[manifest.Key]struct{}   // keys with definitions that the path policies refuse
	policy    tenancy.Policy

	trespassing map[*file]bool      // what holdsOutside found since the policies or a file changed
	unread      map[string]struct{} // files below a directory that is skipped
	selections  map[string]*selection
	opened      openFiles

	begun     bool                              // something was restored, or applied
	previous  map[manifest.Key]served           // what was served before the Changes that Applied does not know of
	withheld  map[manifest.Key]formerVersion    // in the place of what serves here
	unsettled map[manifest.Key]struct{}         // to be settled by the next Tree, whatever it changes
	mistakes  map[manifest.Key]manifest.Problem // of keys whose settling panicked

	unsaved  map[manifest.Key]struct{} // changed since Unsaved told of it
	absent   map[manifest.Key]string   // Secrets that were restored without their content
	restored bool                      // no Change has told of what Restore brought

	unrendered unrendered // folders of Kustomize and Helm

	allowEmpty bool
	located    map[spot]manifest.Problem
	standing   standing
}

// New returns an empty Store. The error says that the embedded schemas are invalid.
func New(options Options) (*Store, error) {
	options.Limits.Documents = cmp.Or(options.Limits.Documents, 20_000)
	options.Limits.Objects = cmp.Or(options.Limits.Objects, 500_000)
	schemas, err := schema.Load()
	if err != nil {
		return nil, fmt.Errorf("load schemas: %w", err)
	}
	return &Store{
		options: options, reader: reader{schemas: schemas, save: options.Save, secrets: options.SaveSecrets, sharer: newSharer()},
		files: map[string]*file{}, flawed: map[string]*file{},
		served: map[manifest.Key]served{}, found: map[manifest.Key][]*definition{},
		contested: map[manifest.Key]struct{}{}, kept: map[string]map[manifest.Key]struct{}{},
		refusals: map[manifest.Key][]*refusal{}, invalid: map[manifest.Key]*Invalid{},
		outside: map[manifest.Key]struct{}{}, policy: tenancy.New(options.ClusterPaths), trespassing: map[*file]bool{}, unread: map[string]struct{}{}, selections: map[string]*selection{},
		previous: map[manifest.Key]served{}, withheld: map[manifest.Key]formerVersion{}, unsettled: map[manifest.Key]struct{}{}, mistakes: map[manifest.Key]manifest.Problem{},
		unsaved: map[manifest.Key]struct{}{}, absent: map[manifest.Key]string{},
	}, nil
}

// AllowEmpty lets the next Tree be applied even if it removes every object.
func (s *Store) AllowEmpty() { s.allowEmpty = true }

// Apply applies a Tree and returns what it changed. It compares only files that the previous
// Tree does not share, splits only those whose hash changed, and parses only documents whose
// text changed. It uses all cores, and has finished when it returns. For a folder without
// problems, the objects afterwards depend on this Tree alone.
func (s *Store) Apply(tree watcher.Tree) Change {
	change, _ := s.ApplyUntil(context.Background(), tree, Turn{})
	return change
}

// ApplyUntil is Apply that can be interrupted: if ctx ends before the Tree is read, it returns
// the error of ctx and applies nothing. Files that take longer to read than a turn may be left for
// the next Apply (Change.Waiting), or end this one with ErrNewer.
func (s *Store) ApplyUntil(ctx context.Context, tree watcher.Tree, turn Turn) (Change, error) {
	if s.options.Strict { // a revision is applied as a whole, or not at all
		turn = Turn{}
	}
	tree = s.unrendered.strip(tree, func(file string) bool { return s.sourceOf(file) != manifest.OtherFile })
	edits, waiting, stats, err := s.read(ctx, tree, turn)
	if err != nil {
		return Change{}, err
	}
	tree = s.without(tree, waiting)
	next := s.tally
	for _, e := range edits {
		next = next.minus(e.before).plus(e.after)
	}
	problem, held := s.hold(tree, next)
	if !held {
		problem, held = s.holdForPolicies(tree.Root, edits, next)
	}
	s.allowEmpty = false
	if held {
		stats.Objects = len(s.served)
		s.lacking(&problem)
		set := s.restoredObjects()
		return Change{Set: set, Restored: len(set) > 0, Hold: frozen(problem), Problems: s.problemsHeld(problem, edits), Stale: s.stale(), Stats: stats}, nil
	}
	change := s.take(edits, tree.Noticed)
	s.taken, s.tally = tree, next
	stats.Objects = len(s.served)
	change.Stats = stats
	for _, e := range waiting {
		change.Waiting = append(change.Waiting, e.path)
	}
	change.Problems, change.Stale = s.problems(), s.stale()
	change.Ignored = s.standing.ignored
	return change, nil
}

// The codes of the problems for which a Tree is held.
const (
	folderEmptied   = "FolderEmptied"
	folderMissing   = "FolderMissing"
	tooManyObjects  = "TooManyObjects"
	revisionInvalid = "RevisionInvalid"
)

// hold reports whether the Tree must not be taken, and why.
func (s *Store) hold(tree watcher.Tree, next tally) (p manifest.Problem, held bool) {
	p = manifest.Problem{Severity: manifest.Error, File: tree.Root}
	serving := len(s.served)
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
	case s.options.Strict && next.broken+len(tree.Skipped) > 0:
		p.Code = revisionInvalid
		p.Message = "the folder has invalid documents; with --strict gatefold applies none of its changes, and still serves the last valid folder"
		p.Hint = "fix the errors listed here; without --strict, gatefold holds back only the invalid objects"
	default:
		return manifest.Problem{}, false
	}
	return p, true
}

// counted is "1 object" or "8 objects".
func counted(objects int) string {
	if objects == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", objects)
}

// frozen says in one paragraph why the folder is not followed, and what to do.
func frozen(why manifest.Problem) string {
	if why.Hint == "" {
		return why.Message
	}
	return why.Message + ". " + strings.ToUpper(why.Hint[:1]) + why.Hint[1:]
}

// problemsHeld returns the problems that stand while a Tree is held: those of
// the Tree where it was its documents that are at fault, else those before.
func (s *Store) problemsHeld(why manifest.Problem, edits []edit) []manifest.Problem {
	if why.Code == folderEmptied || why.Code == folderMissing {
		all := slices.Concat(s.problems(), []manifest.Problem{why})
		manifest.SortProblems(all)
		return all
	}
	flawed := maps.Clone(s.flawed)
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
