package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/watcher"
)

// Turn limits the time for which slow files (files that take long to read) delay the other files of a Tree. With the
// zero value, all files of a Tree are applied together.
type Turn struct {
	// Length is how long the Store waits for slow files. After this time, the files that have been read are applied
	// without the others, unless they depend on files that have not been read yet. 0 means no limit.
	Length time.Duration
	// Newer is a function that reports whether a newer Tree waits. It is called after each Length if no file can
	// be applied. It may be nil if Length is 0.
	Newer func() bool
	// whole is true if no file may be applied before all files are read.
	whole bool
}

// ErrNewer is the error of an ApplyUntil that ended because a newer Tree waits. The next call reuses what was
// read.
var ErrNewer = errors.New("a newer state of the folder waits")

// openFiles has the files that are read, completely or in part, and that no Apply has applied yet. The next
// Apply continues with them, and need not read them again. The map files has these files by path. The map
// readings has the documentReader of each document that is begun and not read completely.
type openFiles struct {
	files    map[string]*file
	readings map[*document]*documentReader
}

// reading is a document that is being read, object by object. opened is nil until the first step.
type reading struct {
	document *document
	opened   *documentReader
}

// readTime is the time that reading a document took.
type readTime struct{ parse, validate time.Duration }

// read reads the files that differ between the Tree and the last applied Tree. It returns the edits (changed
// files) to apply now, and those that must wait (divide). If ctx ends, it returns the error of ctx, and no edits.
// If no edit can be applied after turn.Length, and a newer Tree waits, it returns ErrNewer, and no edits. The only
// state of the Store that it changes are the open files (openFiles).
func (s *Store) read(ctx context.Context, tree watcher.Tree, turn Turn) (ready, waiting []edit, stats Stats, err error) {
	edits, contents := s.sources.compare(tree)
	parallel(len(edits), func(i int) {
		if content, ok := contents[edits[i].path]; ok {
			edits[i].after.split(content, s.sources.documents, edits[i].before, s.sources.opened.files[edits[i].path])
		}
	})
	stats = Stats{Files: tree.Files.Len(), FilesChanged: len(edits)}
	readings := s.sources.toRead(edits)
	count := s.sources.counting(len(readings))
	for {
		stats.add(s.sources.readFor(ctx, readings, turn.Length, count))
		readings = slices.DeleteFunc(readings, func(r *reading) bool { return r.document.result != nil })
		if err := ctx.Err(); err != nil {
			return nil, nil, stats, err
		}
		if ready, waiting = s.serving.divide(edits); len(waiting) == 0 || len(ready) > 0 && !turn.whole {
			break
		}
		if turn.Newer() {
			s.sources.open(edits, readings)
			return nil, nil, stats, ErrNewer
		}
	}
	s.sources.open(waiting, readings)
	parallel(len(ready), func(i int) {
		if ready[i].after != nil {
			ready[i].after.finish()
		}
	})
	return ready, waiting, stats, nil
}

// open records files that are not applied yet, and the readings of their documents, so that the next Apply
// continues with them. It forgets the files that an earlier call recorded.
func (s *sources) open(edits []edit, readings []*reading) {
	s.opened = openFiles{}
	for _, e := range edits {
		if e.after != nil && e.after.hash != (watcher.Hash{}) {
			if s.opened.files == nil {
				s.opened.files = map[string]*file{}
			}
			s.opened.files[e.path] = e.after
		}
	}
	for _, r := range readings {
		if r.opened != nil {
			if s.opened.readings == nil {
				s.opened.readings = map[*document]*documentReader{}
			}
			s.opened.readings[r.document] = r.opened
		}
	}
}

// toRead returns the documents that must be read, in the order of inOrderOfReading.
func (s *sources) toRead(edits []edit) (all []*reading) {
	for _, e := range inOrderOfReading(edits) {
		for _, d := range e.after.documents {
			if d.result == nil {
				all = append(all, &reading{d, s.opened.readings[d]})
			}
		}
	}
	return all
}

// readFor reads the documents of readings until the parameter length has passed, or ctx ends. A length of 0
// means no limit. It always reads at least one step of the first document. It calls the function count after
// each complete document. The result has the time that reading took, and the number of documents that are now
// complete.
func (s *sources) readFor(ctx context.Context, readings []*reading, length time.Duration, count func()) (took Stats) {
	begin := time.Now()
	over := func() bool { return ctx.Err() != nil || length > 0 && time.Since(begin) >= length }
	spent := make([]readTime, len(readings))
	parallel(len(readings), func(i int) {
		if over() && i > 0 {
			return
		}
		var done bool
		if done, spent[i] = readings[i].readUntil(over, s.reader); done {
			count()
		}
	})
	for i, t := range spent {
		took.Parse += t.parse
		took.Validate += t.validate
		if readings[i].document.result != nil {
			took.Documents++
		}
	}
	return took
}

// readUntil reads the document until it is complete, or until the function over returns true. It always reads
// at least one step. done is true if the document is complete, and took is the time that reading took. Of a
// complete document, only the result stays in memory, because the parser's nodes are larger than the objects.
func (r *reading) readUntil(over func() bool, with reader) (done bool, took readTime) {
	var before readTime
	if r.opened != nil {
		before = r.opened.took
	}
	for done = r.step(with); !done && !over(); done = r.step(with) {
	}
	if r.opened != nil {
		took = readTime{r.opened.took.parse - before.parse, r.opened.took.validate - before.validate}
	}
	if done {
		r.opened = nil
	}
	return done, took
}

// add adds the fields Documents, Parse and Validate of the parameter more to those of s.
func (s *Stats) add(more Stats) {
	s.Documents += more.Documents
	s.Parse += more.Parse
	s.Validate += more.Validate
}

// inOrderOfReading returns the edits that have documents to read, in the order of reading. At each level of the
// folder, the file or directory with fewer bytes to read comes first. So a small change of one team is read
// before a large change of another team.
func inOrderOfReading(edits []edit) (ordered []edit) {
	bytes := map[string]int{} // to be read in a file, or in all files of a directory
	for _, e := range edits {
		size := 0
		if e.after != nil {
			for _, d := range e.after.documents {
				if d.result == nil {
					size += len(d.text) + 1
				}
			}
		}
		if size == 0 {
			continue
		}
		ordered = append(ordered, e)
		for i := range len(e.path) {
			if e.path[i] == '/' {
				bytes[e.path[:i]] += size
			}
		}
		bytes[e.path] += size
	}
	slices.SortFunc(ordered, func(a, b edit) int {
		one, other := parted(a.path, b.path)
		if bytes[one] != bytes[other] {
			return bytes[one] - bytes[other]
		}
		return strings.Compare(one, other)
	})
	return ordered
}

// parted returns the beginnings of two paths, up to the first file or directory in which the paths differ. For
// a/b/x.yaml and a/c.yaml these are a/b and a/c.yaml.
func parted(a, b string) (string, string) {
	common := 0
	for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		if a[i] == '/' {
			common = i + 1
		}
	}
	first, _, _ := strings.Cut(a[common:], "/")
	second, _, _ := strings.Cut(b[common:], "/")
	return a[:common+len(first)], b[:common+len(second)]
}

// without returns the Tree as if the files of the edits had not changed. Each file has the content of the last
// applied Tree, and files that are new since that Tree are left out.
func (s *sources) without(tree watcher.Tree, edits []edit) watcher.Tree {
	var set []watcher.File
	var gone []string
	for _, e := range edits {
		if before, ok := s.taken.Files.Get(e.path); ok {
			set = append(set, before)
		} else {
			gone = append(gone, e.path)
		}
	}
	if len(edits) > 0 {
		tree.Files = tree.Files.With(set, gone)
	}
	return tree
}
