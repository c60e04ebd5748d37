package watcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// readTries limits the attempts of Read. Read tries again if the folder changed during the reading.
const readTries = 10

// errStale means that the folder changed while it was read.
var errStale = errors.New("the folder changes while it is read")

// Read returns one consistent reading of opt.Root, for commands that read once. It returns an error
// if the root is missing, unreadable or not a directory, if ctx ends, or if the folder changes
// faster than it can be read. A problem of a single file is a Skip in the Tree.
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

// readOnce reads the folder once, for Read. It returns errStale if the folder changed meanwhile. Any other
// error says why the root cannot be read.
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

// reader has the state of one folder: its known entries and their content. Each call of look compares the
// folder with this state, so that only what changed is listed and read again.
type reader struct {
	name   string
	limits Limits
	takes  func(name string) bool // Options.Takes
	ignore *ignoring
	// at is the directory to which the path of the root led (see place) when the whole folder was last compared. If
	// the root could not be read since then, at is zero.
	at  place
	top *node // nil while the root is missing
	// failed has the paths of files that could not be read. Such a file may become readable without a change of the
	// file, so the reader tries these files again whenever it compares the whole folder.
	failed []string
	// open and unfinished have the files that a program had open for writing when the last Tree was made. In this
	// Tree, the files in open have their previous content, and the files in unfinished have the content at that time.
	open, unfinished []string
	// kept is the content of files that vanished since the last complete Tree. They may come back.
	kept map[string]*loaded
	// enter is called with each new directory (see the field enter of scan).
	enter func(dir string, id identity)
	// platform and everyPath are the Options of these names.
	platform  func(path string) bool
	everyPath bool
	// total is the size of what is known below top. had is that of each part (see parts) after the last deep scan.
	total size
	had   map[string]size
	// ways has the paths of each known directory.
	ways map[identity][]string
	told []Skip // links to what is read by another path
	last madeOf // the content of the last Tree, and the changes since then
	// reads is how many files were opened, for tests.
	reads int
}

func newReader(opt Options) *reader {
	return &reader{
		name: opt.Root, limits: opt.Limits, takes: opt.Takes, ignore: newIgnoring(opt), kept: map[string]*loaded{},
		platform: opt.Platform, everyPath: opt.EveryPath, last: madeOf{whole: true},
	}
}

// look compares the folder with the state that the reader knows, updates that state, and returns the changes.
// The parameter at is the directory of the root. look compares only the names in dirs. It compares everything if
// dirs is nil, if the root was missing, or if the root is another directory than before. The result stale is true
// if the caller must call look again with nil as dirs. The error says that the root cannot be listed.
func (r *reader) look(root *os.Root, at place, dirs where) (changes []change, stale bool, err error) {
	everywhere := dirs == nil || r.top == nil || !at.same(r.at)
	before := r.ignore.skip
	if everywhere {
		r.ignore.refresh(root)
	}
	s := &scan{
		limits: r.limits, takes: r.takes, ignore: r.ignore.rules, root: root, kept: r.kept, enter: r.enter, everyPath: r.everyPath,
	}
	defer func() { r.last.note(changes, s.unread) }()
	if !sameSkip(before, r.ignore.skip) {
		s.change(IgnoreFile, written)
	}
	if everywhere {
		return r.lookEverywhere(s, at)
	}
	s.total, s.ways = r.total, r.ways
	err = s.revisit(r.top, dirs)
	r.total = s.total
	return s.changes, err != nil || s.stale || r.ignore.moved(root), nil
}

// lookEverywhere compares the whole folder with the known state, for look. The parameter at is the directory of
// the root. The results are those of look.
func (r *reader) lookEverywhere(s *scan, at place) (changes []change, stale bool, err error) {
	before, was := r.top, r.at
	s.deep, s.ways, r.at = true, map[identity][]string{}, at
	s.parts = &parts{limits: r.limits, platform: r.platform, sizes: map[string]size{}, had: r.had, out: map[string]bool{}}
	top, err := s.list(&visit{old: before})
	if err == nil {
		err = s.drain(top)
	}
	if err == nil {
		err = s.leaveOut(before, top)
	}
	if err != nil {
		return nil, false, err
	}
	r.top, r.had, r.total, r.ways, r.told = top, s.parts.sizes, s.parts.total(), s.ways, s.tellings()
	for _, path := range r.failed {
		s.change(path, reread)
	}
	r.failed = nil
	switch {
	case before == nil:
		s.change("", written)
	case at.path != was.path: // the link to the root was replaced: everything changed at once
		s.collapse("")
		clear(r.kept)
	}
	return s.changes, s.stale, nil
}

// lose records that the root is missing. It returns changes of kind removed, for every file and for the root.
// It returns nil if the root was already recorded as missing.
func (r *reader) lose() []change {
	if r.top == nil {
		return nil
	}
	s := &scan{kept: r.kept}
	for _, e := range r.top.entries {
		s.gone(e)
	}
	s.change("", removed)
	r.top, r.last.whole = nil, true
	return s.changes
}

// keepKnown records that the root cannot be read because of err, and returns one change for the root. The known
// files then count as skipped, not as deleted. keepKnown returns nil if no files are known, or if the failure
// is already recorded.
func (r *reader) keepKnown(err error) []change {
	if r.top == nil || r.at.path == "" {
		return nil
	}
	r.top = r.top.skipped(Unreadable, reason(err).Error())
	r.last.whole = true
	r.at = place{} // look at everything when it can be read again
	return []change{{"", written}}
}

// missing reports whether err means that the root does not exist or is not a directory.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)
}
