package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/watcher"
)

// ErrNewer is the error of an ApplyUntil that ended because a newer Tree waits. The next call reuses what was
// read.
var ErrNewer = errors.New("a newer state of the folder waits")

// reading is a document that is being read, object by object. opened is nil until the first step.
type reading struct {
	document *document
	opened   *documentReader
}

// readTime is the time that reading a document took.
type readTime struct{ parse, validate time.Duration }

// read reads the files that differ between the Tree and the last applied Tree. If newer returns true meanwhile, it ends,
// and returns the edits (changed files) that can be applied without what is not read (divide), and those that wait. If
// there are none, it returns ErrNewer. If ctx ends, it returns the error of ctx. The next call goes on with the documents
// that are read (sources.opened), which is the only state of the Store that read changes.
func (s *Store) read(ctx context.Context, tree watcher.Tree, newer func() bool) (ready, waiting []edit, stats Stats, err error) {
	edits, contents := s.sources.compare(tree)
	parallel(len(edits), func(i int) {
		if content, ok := contents[edits[i].path]; ok {
			edits[i].after.split(content, s.sources.documents, edits[i].before, s.sources.opened[edits[i].path])
		}
	})
	stats = s.sources.readUntil(func() bool { return ctx.Err() != nil || newer() }, toRead(edits))
	stats.Files, stats.FilesChanged = tree.Files.Len(), len(edits)
	ready, waiting = s.fence.divide(edits)
	s.sources.open(waiting)
	switch {
	case len(waiting) == 0:
	case ctx.Err() != nil:
		return nil, nil, stats, ctx.Err()
	case len(ready) == 0:
		return nil, nil, stats, ErrNewer
	}
	parallel(len(ready), func(i int) {
		if ready[i].after != nil {
			ready[i].after.finish()
		}
	})
	return ready, waiting, stats, nil
}

// divide separates the edits that can be applied now from those that wait for a file that is not read completely. Files
// that may define objects of one namespace are applied together, so that an object that moves between them is always
// served. Without path policies, and for the files of --cluster-paths, these are all namespaces.
func (f *fence) divide(edits []edit) (ready, waiting []edit) {
	unread := func(e edit) bool { return e.after.unread() }
	everywhere := func(e edit) bool { return f.owners == nil || f.owners.Cluster(e.path) }
	switch {
	case !slices.ContainsFunc(edits, unread):
		return edits, nil
	case slices.ContainsFunc(edits, everywhere):
		return nil, edits
	}
	ready = slices.Clone(edits)
	waits := map[string]bool{} // the namespaces of files that wait
	for found := true; found; {
		found = false
		ready = slices.DeleteFunc(ready, func(e edit) bool {
			owners := f.owners.Of(e.path)
			if !unread(e) && !slices.ContainsFunc(owners, func(namespace string) bool { return waits[namespace] }) {
				return false
			}
			for _, namespace := range owners {
				waits[namespace] = true
			}
			waiting, found = append(waiting, e), true
			return true
		})
	}
	return ready, waiting
}

// unread reports whether some documents of the file are not read yet. It is false for a nil file.
func (f *file) unread() bool {
	return f != nil && slices.ContainsFunc(f.documents, func(d *document) bool { return d.result == nil })
}

// open records files that are not applied yet, so that the next Apply does not read their documents again. It forgets the
// files that an earlier call recorded.
func (s *sources) open(edits []edit) {
	s.opened = map[string]*file{}
	for _, e := range edits {
		if e.after != nil && e.after.hash != (watcher.Hash{}) {
			s.opened[e.path] = e.after
		}
	}
}

// toRead returns the documents that must be read, in the order of inOrderOfReading.
func toRead(edits []edit) (all []*reading) {
	for _, e := range inOrderOfReading(edits) {
		for _, d := range e.after.documents {
			if d.result == nil {
				all = append(all, &reading{document: d})
			}
		}
	}
	return all
}

// readUntil reads the documents of readings until the function over returns true. The result has the time that reading
// took, and the number of documents that were read completely.
func (s *sources) readUntil(over func() bool, readings []*reading) (took Stats) {
	count := s.counting(len(readings))
	spent := make([]readTime, len(readings))
	parallel(len(readings), func(i int) {
		if over() {
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

// readUntil reads the document until it is complete, or until the function over returns true. done is true if the
// document is complete, and took is the time that reading took. Nothing of the parser stays in memory, because its nodes are
// larger than the objects.
func (r *reading) readUntil(over func() bool, with reader) (done bool, took readTime) {
	for done = r.step(with); !done && !over(); done = r.step(with) {
	}
	if r.opened != nil {
		took = r.opened.took
	}
	r.opened = nil
	return done, took
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
