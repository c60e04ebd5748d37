package store

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// file is one file as it was read. A skipped file has the documents that were read before it was skipped.
type file struct {
	path        string
	hash        watcher.Hash
	documents   []*document
	definitions []*definition
	source      manifest.Source // the source of its objects
	hides       bool            // the file is skipped, and may define Namespaces (see fence.hides)
	blank       bool            // the file has nothing but white space
	tally       tally
	beside      *oddities // everything in the file except definitions; nil if there is nothing else
}

// oddities has everything in a file other than valid objects (definitions): rejected objects, problems, and
// objects of kinds that gatefold does not read. Most files have no oddities.
type oddities struct {
	skipped    *watcher.Skip         // why the file is skipped; nil if it was read
	rejected   []*rejectedDefinition // objects that cannot be served
	unreadable []*unreadableText     // texts that may be policies and cannot be read
	problems   []manifest.Problem    // with their places in the file
	foreign    []foreign
	doubts     []manifest.Problem // remarks.doubt of the documents, with their places in the file
}

// oddities returns everything in the file other than definitions. The result is empty if the file has only
// definitions.
func (f *file) oddities() oddities {
	if f.beside == nil {
		return oddities{}
	}
	return *f.beside
}

// tally counts the content of files. In the comments below, a cluster file is a file that the flag --cluster-paths
// names. If the flag is set, only cluster files may define Namespaces.
type tally struct {
	documents, objects int
	broken             int // documents in which something did not become an object
	fences             int // Namespaces with the annotation gatefold.io/paths
	namespaces         int // Namespaces in cluster files
	hidden             int // cluster files, and documents in them, that cannot be read: they may define Namespaces
}

// plus returns the tally with the counts of a file added. A nil file has no counts.
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

// minus returns the tally without the counts of a file. A nil file has no counts.
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

// edit is the change of one file between two Trees. before is the file in the previous Tree, or nil for a new
// file. after is the file in the new Tree, or nil for a removed file.
type edit struct {
	path          string
	before, after *file
}

// split splits the content of a file into documents. A .json file is one document, and so is an
// encrypted file. The parameter known has
// earlier versions of the file: a document whose text is also in an earlier version takes over the result from
// there, and is not read again. If there are more documents than limit, the file gets a problem and no
// documents.
func (f *file) split(content []byte, limit int, known ...*file) {
	f.blank = len(bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\ufeff")))) == 0
	parts := []part{{content, 1}}
	if path.Ext(f.path) != ".json" && cipherOfText(content) == nil {
		parts = splitDocuments(content)
	}
	if len(parts) > limit {
		f.beside = &oddities{problems: []manifest.Problem{{
			Code: codeTooManyDocuments, Severity: manifest.Error, File: f.path, Line: parts[limit].line, Column: 1,
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

// adopt returns a document for each part. A document with the same text as an old document gets the result of
// the old document. The result of any other document is nil. Usually only a few documents in the middle differ,
// so adopt compares from both ends first, and uses a map for the documents between.
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

// The limits on problems of one file.
const (
	maxExplained = 20  // syntax errors that are explained
	maxProblems  = 200 // problems in total
)

// finish collects the definitions, rejected objects and problems of the file's documents. It is called after all
// documents have been read. It lists at most maxProblems problems. If there are more, one further problem says how
// many are not listed.
func (f *file) finish() {
	all := f.oddities()
	if all.skipped != nil && all.skipped.Detail != "" {
		all.problems = append(all.problems, f.skipProblem(all.skipped))
	}
	for _, p := range all.problems {
		if unseen := f.unseenText(p); unseen != nil {
			all.unreadable = append(all.unreadable, unseen)
		}
	}
	refused, more := 0, 0
	for _, d := range f.documents {
		said := d.remarks()
		if said.syntax != nil {
			refused++
			said.problems = append([]finding{d.explain(refused <= maxExplained)}, said.problems...)
		}
		for _, p := range said.problems {
			all.problems = append(all.problems, f.placed(d, p))
		}
		for _, w := range said.unreadable {
			all.unreadable = append(all.unreadable, f.unreadableAt(d, w, causeOf(said.problems)))
		}
		for _, p := range said.doubt {
			p.Severity = manifest.Error
			all.doubts = append(all.doubts, f.placed(d, p))
		}
		if f.source == manifest.ClusterPaths { // what is hidden there may be a path policy
			all.problems = append(all.problems, all.doubts...)
			all.doubts = nil
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
	if f.beside = nil; all.skipped != nil || len(all.rejected)+len(all.unreadable)+len(all.problems)+len(all.foreign) > 0 {
		f.beside = &all
	}
}

// unreadableAt returns the text w of a document. The parameter first is the first error of the document.
func (f *file) unreadableAt(d *document, w *wording, first spotOfError) *unreadableText {
	out := &unreadableText{wording: w, file: f, cause: cmp.Or(w.cause, first)}
	out.cause.file, out.cause.line = f.path, out.cause.line+d.line-1
	where := w.place
	if where == (place{}) {
		where = place{1, 1, 0}
	}
	out.at = Place{File: f.path, Line: where.line + d.line - 1, Column: where.column}
	return out
}

// define adds the valid objects of a document to the definitions, and adds the document to the counts of the
// tally.
func (f *file) define(d *document) {
	for i := range d.items {
		f.definitions = append(f.definitions, &definition{&d.items[i], f, d, len(f.definitions)})
		f.count(d.items[i].object)
	}
	if d.broken || f.source == manifest.ClusterPaths && len(d.remarks().doubt) > 0 {
		f.tally.broken++
	}
	if f.source == manifest.ClusterPaths && d.hidesNamespace() {
		f.tally.hidden++
	}
}

// count sets the source of an object to the source of the file. If the object is a Namespace, count also updates the
// fields fences and namespaces of the file's tally.
func (f *file) count(o *manifest.Object) {
	if o.Source != f.source {
		o.Source = f.source // only if the object was just read or restored
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

// placed returns a document's problem with the file, and with lines that count from the beginning of the file.
func (f *file) placed(d *document, p finding) manifest.Problem {
	problem := p.in(d.line)
	problem.File = f.path
	return problem
}

// flawed reports whether the file has problems, or objects of kinds that gatefold does not read.
func (f *file) flawed() bool {
	all := f.oddities()
	return len(all.problems)+len(all.foreign) > 0
}

// fileProblems returns the problems of the given files, unsorted. The parameter flawed has, by path, all files with
// problems or with objects of kinds that gatefold does not read (see file.flawed). The result includes the warnings
// about these kinds (foreignKinds). The parameter kept has the stale objects by file: the doubts of such a file (see
// remarks.doubt) are problems, too. In other files only encrypted documents are, as warnings: they may have what somebody misses.
func fileProblems(flawed map[string]*file, kept map[string]map[manifest.Key]struct{}) []manifest.Problem {
	var all []manifest.Problem
	for path, f := range flawed {
		all = append(all, f.oddities().problems...)
		for _, p := range f.oddities().doubts {
			if len(kept[path]) == 0 {
				p.Severity = manifest.Warning
			}
			if p.Severity == manifest.Error || p.Code == codeEncrypted {
				all = append(all, p)
			}
		}
	}
	_, foreign := foreignKinds(flawed)
	return append(all, foreign...)
}

// parallel calls the function work with 0 to n-1 on all cores, and returns after all calls. If a call panics,
// parallel panics with the same value.
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
