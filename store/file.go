package store

import (
	"bytes"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// file is one file as it was read. For a skipped file it has what was read before.
type file struct {
	path        string
	hash        watcher.Hash
	documents   []*document
	definitions []*definition
	source      manifest.Source // of its objects
	hides       bool            // it is skipped, and may hold Namespaces of cluster paths
	tally       tally
	beside      *oddities
}

// oddities are the parts of a file other than definitions. Most files have none.
type oddities struct {
	skipped  *watcher.Skip         // why it is skipped; nil for a file that was read
	rejected []*rejectedDefinition // where the schema rejects what stands there
	problems []manifest.Problem    // at their places in the file
	foreign  []foreign
}

// oddities returns the parts of the file other than definitions.
func (f *file) oddities() oddities {
	if f.beside == nil {
		return oddities{}
	}
	return *f.beside
}

// tally counts the content of files.
type tally struct {
	documents, objects int
	broken             int // documents of which something did not become an object
	fences             int // Namespaces with annotations that keep files out
	namespaces         int // Namespaces of cluster paths
	hidden             int // documents and files of cluster paths that may be Namespaces, and cannot be read
}

func (t tally) plus(f *file) tally {
	if f != nil {
		t.documents += f.tally.documents
		t.objects += f.tally.objects
		t.broken += f.tally.broken
		t.fences += f.tally.fences
		t.namespaces += f.tally.namespaces
		t.hidden += f.tally.hidden
	}
	return t
}

func (t tally) minus(f *file) tally {
	if f != nil {
		t.documents -= f.tally.documents
		t.objects -= f.tally.objects
		t.broken -= f.tally.broken
		t.fences -= f.tally.fences
		t.namespaces -= f.tally.namespaces
		t.hidden -= f.tally.hidden
	}
	return t
}

// edit is a file that differs from the previous Tree. before is nil for a new file, after for a
// removed one.
type edit struct {
	path          string
	before, after *file
}

// split finds the documents of a file. It takes over documents with the same text from known
// versions of the file; these have been read unless that was interrupted.
func (f *file) split(content []byte, limit int, known ...*file) {
	parts := []part{{content, 1}}
	if path.Ext(f.path) != ".json" {
		parts = splitDocuments(content)
	}
	if len(parts) > limit {
		f.beside = &oddities{problems: []manifest.Problem{{
			Code: "TooManyDocuments", Severity: manifest.Error, File: f.path, Line: parts[limit].line, Column: 1,
			Message: fmt.Sprintf("the file holds %d documents, at most %d are read; none of them is used", len(parts), limit),
			Hint:    "split the file",
		}}}
		f.tally = tally{documents: len(parts), broken: 1}
		return
	}
	var old []*document
	for _, other := range known {
		if other != nil {
			old = append(old, other.documents...)
		}
	}
	f.documents = adopt(parts, old)
}

// adopt returns a document for each part. It takes over old documents with the same text. Usually
// only a few in the middle differ, and only these are looked up.
func adopt(parts []part, old []*document) []*document {
	documents := make([]*document, len(parts))
	begin := 0
	for begin < min(len(parts), len(old)) && bytes.Equal(parts[begin].text, old[begin].text) {
		documents[begin] = &document{parts[begin], old[begin].result}
		begin++
	}
	end, oldEnd := len(parts), len(old)
	for min(end, oldEnd) > begin && bytes.Equal(parts[end-1].text, old[oldEnd-1].text) {
		end, oldEnd = end-1, oldEnd-1
		documents[end] = &document{parts[end], old[oldEnd].result}
	}
	known := map[string]*result{}
	for _, d := range old[begin:oldEnd] {
		if d.result != nil {
			known[string(d.text)] = d.result
		}
	}
	for i := begin; i < end; i++ {
		documents[i] = &document{parts[i], known[string(parts[i].text)]}
	}
	return documents
}

// The most that is said about one file.
const (
	maxExplained = 20  // mistakes of syntax of which the place is searched, and the policies in such texts
	maxProblems  = 200 // problems
)

// finish collects the content of the file's documents.
func (f *file) finish(r reader) {
	all := f.oddities()
	if all.skipped != nil && all.skipped.Detail != "" {
		all.problems = append(all.problems, f.skipProblem(all.skipped))
	}
	refused, unparsed, more := 0, 0, 0
	for _, d := range f.documents {
		said := d.remarks()
		if said.unparsed {
			if unparsed++; unparsed <= maxExplained {
				said.rejected = r.salvageText(d.text, said.problems)
			}
		}
		if said.syntax != nil {
			refused++
			all.problems = append(all.problems, f.placed(d, d.explain(refused <= maxExplained)))
		}
		for _, p := range said.problems {
			all.problems = append(all.problems, f.placed(d, p))
		}
		more += said.unlisted
		for _, o := range said.foreign {
			o.place.line += d.line - 1
			all.foreign = append(all.foreign, o)
		}
		for i := range said.rejected {
			said.rejected[i].nameAfter(f.path)
			all.rejected = append(all.rejected, &rejectedDefinition{&said.rejected[i], f, d})
		}
		f.define(d)
	}
	if f.hides || f.source == manifest.ClusterPaths && f.documents == nil && f.tally.broken > 0 {
		f.tally.hidden++
	}
	f.tally.documents += len(f.documents)
	f.tally.objects = len(f.definitions)
	listed := min(len(all.problems), maxProblems)
	if more += len(all.problems) - listed; more > 0 {
		all.problems = append(all.problems[:listed:listed], manifest.Problem{
			Code: "MoreProblems", Severity: manifest.Error, File: f.path,
			Message: fmt.Sprintf("the file has %d problems more, which are not listed", more),
		})
	}
	if f.beside = nil; all.skipped != nil || len(all.rejected)+len(all.problems)+len(all.foreign) > 0 {
		f.beside = &all
	}
}

// define adds the objects of a document.
func (f *file) define(d *document) {
	for i := range d.items {
		f.definitions = append(f.definitions, &definition{&d.items[i], f, d, len(f.definitions)})
		f.count(d.items[i].object)
	}
	if d.broken {
		f.tally.broken++
	}
	if f.source == manifest.ClusterPaths && d.hidesNamespace() {
		f.tally.hidden++
	}
}

// count sets the source of an object, and counts Namespaces.
func (f *file) count(o *manifest.Object) {
	if o.Source != f.source {
		o.Source = f.source // it was just read, or restored
	}
	if !isNamespace(o.Key) {
		return
	}
	if grantOf(o).Restricts() {
		f.tally.fences++
	}
	if f.source == manifest.ClusterPaths {
		f.tally.namespaces++
	}
}

// placed returns a document's problem with its line in the file.
func (f *file) placed(d *document, p finding) manifest.Problem {
	p.File = f.path
	p.Line += d.line - 1
	if p.other > 0 {
		p.Message = fmt.Sprintf(p.Message, p.other+d.line-1)
	}
	return p.Problem
}

// flawed reports whether the file has problems.
func (f *file) flawed() bool {
	all := f.oddities()
	return len(all.problems)+len(all.foreign) > 0
}

// fileProblems returns the problems of files, unsorted.
func fileProblems(flawed map[string]*file) []manifest.Problem {
	var all []manifest.Problem
	for _, f := range flawed {
		all = append(all, f.oddities().problems...)
	}
	_, foreign := foreignKinds(flawed)
	return append(all, foreign...)
}

// parallel calls work for 0 to n-1 on all cores, and returns after all calls. It passes on a panic
// of work.
func parallel(n int, work func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers < 2 {
		for i := range n {
			work(i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	panics := make([]any, workers)
	for w := range workers {
		group.Go(func() {
			defer func() { panics[w] = recover() }()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	group.Wait()
	if i := slices.IndexFunc(panics, func(p any) bool { return p != nil }); i >= 0 {
		panic(panics[i])
	}
}
