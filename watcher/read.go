package watcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// readTries is how often Read starts again when the folder moves under it.
const readTries = 10

// errStale means that something vanished while it was read.
var errStale = errors.New("the folder changes while it is read")

// Read returns one consistent reading of opt.Root, for commands that look
// once. It returns an error when the root is missing, unreadable or not a
// directory, when ctx ends, or when the folder changes faster than it can be
// read. What is wrong with a single file is a Skip of the Tree.
func Read(ctx context.Context, opt Options) (Tree, error) {
	opt = opt.withDefaults()
	var t Tree
	var err error
	for try := range readTries {
		if t, err = readOnce(opt); !errors.Is(err, errStale) {
			break
		}
		select {
		case <-ctx.Done():
			return Tree{}, ctx.Err()
		case <-time.After(time.Duration(try) * opt.RenameQuiet):
		}
	}
	if err != nil {
		return Tree{}, fmt.Errorf("folder %s: %w", opt.Root, reason(err))
	}
	return t, ctx.Err()
}

func readOnce(opt Options) (Tree, error) {
	start := time.Now()
	root, at, err := openRoot(opt.Root)
	if err != nil {
		return Tree{}, err
	}
	defer root.Close()
	r := newReader(opt)
	_, stale, err := r.look(root, at, nil)
	if err != nil {
		return Tree{}, err
	}
	t, moving := r.tree(root, loading{})
	if stale || len(moving) > 0 {
		return Tree{}, errStale
	}
	t.Noticed, t.Scan = start, time.Since(start)
	return t, nil
}

// reader keeps what it knows of one folder from look to look, so that only
// what changed is listed and read again.
type reader struct {
	name   string
	limits Limits
	takes  func(name string) bool
	at     place
	top    *node // nil while the root is missing
	// failed names the files that the system refused to read: the reason may
	// pass without a change of the file, so every full look tries again.
	failed []string
	// kept holds what vanished since the last whole Tree: it may come back.
	kept map[string]*loaded
	// enter is scan.enter.
	enter func(dir string, id identity)
	// known counts directories and files below top, against the limits.
	known scanned
	// reads counts the files that were opened, files those of the last Tree.
	reads, files int
}

func newReader(opt Options) *reader {
	return &reader{name: opt.Root, limits: opt.Limits, takes: opt.Takes, kept: map[string]*loaded{}}
}

// look compares the folder with what is known and returns what changed. dirs
// names the directories to list; nil means all, and so does a root that is
// another directory than before. stale asks for another look at everything.
func (r *reader) look(root *os.Root, at place, dirs map[identity]bool) (changes []change, stale bool, err error) {
	before, was := r.top, r.at
	s := &scan{limits: r.limits, takes: r.takes, root: root, kept: r.kept, enter: r.enter}
	s.deep = dirs == nil || before == nil || !at.same(was)
	r.at = at
	if !s.deep && len(dirs) == 0 {
		return nil, false, nil
	}
	if !s.deep {
		s.scanned = r.known
		r.top, err = s.relist("", nil, r.top, dirs)
		r.known = s.scanned
		return s.changes, err != nil || s.stale, nil
	}
	top, err := s.list("", nil, before)
	if err != nil {
		return s.changes, false, err
	}
	r.top, r.known = top, s.scanned
	for _, path := range r.failed {
		s.change(path, reread)
	}
	r.failed = nil
	switch {
	case before == nil:
		s.change("", written)
	case at.path != was.path: // the link was flipped: a whole new folder at once
		s.collapse(0, "")
		clear(r.kept)
	}
	return s.changes, s.stale, nil
}

// lose records that the root is missing and returns what changed.
func (r *reader) lose() []change {
	if r.top == nil {
		return nil
	}
	s := &scan{kept: r.kept}
	for i := range r.top.entries {
		s.gone(&r.top.entries[i])
	}
	s.change("", removed)
	r.top = nil
	return s.changes
}

// refuse records that the root cannot be read: what is known stays, skipped.
func (r *reader) refuse(err error) []change {
	if r.top == nil || r.at.path == "" {
		return nil
	}
	r.top = r.top.skipped(Unreadable, reason(err).Error())
	r.at = place{} // look at everything when it can be read again
	return []change{{"", written}}
}

// loading says what of a Tree is not as it was found.
type loading struct {
	// keep adds what vanished a moment ago.
	keep bool
	// hold names the files that are taken as they were; nil is none.
	hold func(path string) bool
}

// tree makes a Tree of what the last look found and reads what changed.
// moving names the files that change at this very moment; they are in the
// Tree with their content before.
func (r *reader) tree(root *os.Root, as loading) (t Tree, moving []string) {
	l := &loader{limits: r.limits, root: root, hold: as.hold}
	l.tree = Tree{Root: r.name, Revision: r.at.revision, Missing: r.top == nil, Files: make([]File, 0, r.files)}
	if r.top != nil {
		l.walk(r.top)
	}
	if as.keep {
		l.keep(r.kept)
	}
	slices.SortFunc(l.tree.Skipped, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
	l.tree.Hash = l.tree.sum()
	r.failed = l.failed
	r.reads, r.files = r.reads+l.reads, len(l.tree.Files)
	return l.tree, l.moving
}

// missing tells whether err means that the root is not there or no directory.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)
}
