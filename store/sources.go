package store

import (
	"maps"
	"slices"
	"sync"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/watcher"
)

// sources has the files of the last Tree that was applied.
type sources struct {
	documents int                // limit of documents in one file
	progress  func(done, of int) // Options.Progress
	reader    reader
	fence     *fence

	taken      watcher.Tree
	files      map[string]*file
	flawed     map[string]*file    // the files with problems or objects of foreign kinds
	tally      tally               // of all files
	reread     bool                // a file with documents that cannot be parsed changed (Store.TextsStand)
	unread     map[string]struct{} // files in a skipped directory (see noteUnread)
	opened     map[string]*file    // the files that the previous Apply did not finish, by path
	unrendered unrendered          // folders of Kustomize and Helm
}

func newSources(options Options, schemas *schema.Set) *sources {
	var checks checker = schemas
	if options.Kgateway != nil {
		checks = comparing{schemas, options.Kgateway}
	}
	return &sources{
		documents: options.Limits.Documents, progress: options.Progress, fence: newFence(options.ClusterPaths),
		reader: reader{schemas: checks, save: options.Save, secrets: options.SaveSecrets, sharer: newSharer()},
		files:  map[string]*file{}, flawed: map[string]*file{}, unread: map[string]struct{}{},
	}
}

// compare returns the files that differ between tree and the last applied Tree. contents has the content of
// each file that must be read, by path.
func (s *sources) compare(tree watcher.Tree) (edits []edit, contents map[string][]byte) {
	contents = map[string][]byte{}
	changed, gone := tree.Files.Since(s.taken.Files)
	for _, f := range changed {
		before := s.files[f.Path]
		if before != nil && before.hash == f.Hash && before.oddities().skipped == nil {
			continue
		}
		if begun := s.opened[f.Path]; begun != nil && begun.hash == f.Hash {
			edits = append(edits, edit{f.Path, before, begun})
			continue
		}
		edits = append(edits, edit{f.Path, before, &file{path: f.Path, hash: f.Hash, source: s.fence.sourceOf(f.Path)}})
		contents[f.Path] = f.Content
	}
	skipped := map[string]bool{}
	for _, skip := range tree.Skipped {
		skipped[skip.Path] = true
		if e, changed := s.skip(skip.Path, skip); changed {
			edits = append(edits, e)
		}
	}
	for _, path := range append(gone, s.elsewhere()...) {
		if _, present := tree.Files.Get(path); present || skipped[path] {
			continue
		}
		skip, below := belowSkipped(path, tree.Skipped)
		if !below {
			edits = append(edits, edit{path, s.files[path], nil})
		} else if e, changed := s.skip(path, skip); changed {
			edits = append(edits, e)
		}
	}
	return edits, contents
}

// skip returns an edit after which the file at path is skipped for the reason in the parameter why. The file
// keeps the documents that were read earlier, unless it is read by another path. If the file is already skipped for the
// same reason, changed is false, and there is no edit.
func (s *sources) skip(path string, why watcher.Skip) (e edit, changed bool) {
	before := s.files[path]
	after := &file{path: path, source: s.fence.sourceOf(path), hides: s.fence.hides(why), beside: &oddities{skipped: &why}}
	if before != nil {
		if known := before.oddities().skipped; known != nil && *known == why {
			return edit{}, false
		}
		if why.Reason != watcher.ReadElsewhere {
			after.documents = before.documents
		}
	}
	return edit{path, before, after}, true
}

// elsewhere returns files of the Store that may be gone, although a comparison of the previous Tree with the new
// one does not show it. The previous Tree had skipped these files, so it did not contain them. If the previous Tree
// had no files at all, elsewhere returns all files of the Store, because Restore may have added them.
func (s *sources) elsewhere() (paths []string) {
	if s.taken.Files.Len() == 0 {
		return slices.Collect(maps.Keys(s.files))
	}
	for _, skip := range s.taken.Skipped {
		if _, below := s.unread[skip.Path]; !below && s.files[skip.Path] != nil {
			paths = append(paths, skip.Path)
		}
	}
	return slices.AppendSeq(paths, maps.Keys(s.unread))
}

// replace replaces a file of the Store by the file after an edit, or removes it. It reports whether the file was
// flawed before the edit, or is flawed after it (see file.flawed).
func (s *sources) replace(e edit) (flawed bool) {
	flawed = s.flawed[e.path] != nil
	s.reread = s.reread || len(e.before.unparsed())+len(e.after.unparsed()) > 0
	delete(s.files, e.path)
	delete(s.flawed, e.path)
	if e.after != nil {
		s.files[e.path] = e.after
		if e.after.flawed() {
			s.flawed[e.path], flawed = e.after, true
		}
	}
	s.noteUnread(e)
	return flawed
}

// noteUnread adds the file of an edit to s.unread if the file is in a skipped directory. Otherwise it removes the
// file from s.unread. noteUnread recognizes a file in a skipped directory by a Skip without a Detail (see
// belowSkipped). Some files that the watcher itself skipped have no Detail either, so noteUnread adds them, too. This
// is harmless, because the method elsewhere returns these files in any case.
func (s *sources) noteUnread(e edit) {
	delete(s.unread, e.path)
	if e.after == nil {
		return
	}
	if why := e.after.oddities().skipped; why != nil && why.Detail == "" {
		s.unread[e.path] = struct{}{}
	}
}

// firstFence returns the first Namespace, in the order of file paths, with an annotation that limits its objects
// (tenancy.Grant.Restricts). The parameter counts is a function: firstFence skips a Namespace if
// the function returns false for the Namespace's key. firstFence looks at the files as they would be after the edits.
// The result is nil if there is no such Namespace.
func (s *sources) firstFence(edits []edit, counts func(manifest.Key) bool) (first *definition) {
	look := func(f *file) {
		if f == nil || f.tally.fences == 0 || first != nil && first.file.path <= f.path {
			return
		}
		for _, d := range f.definitions {
			if grantOf(d.object).Restricts() && counts(d.object.Key) {
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

// counting returns a function that the caller must call after each document that was read. The parameter is the
// number of documents to read. The returned function calls Options.Progress for the first document, then every
// progressStep documents, and for the last document.
func (s *sources) counting(of int) func() {
	if s.progress == nil {
		return func() {}
	}
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; done%progressStep == 1 || done == of {
			s.progress(done, of)
		}
	}
}

// progressStep is the number of documents between two calls of Options.Progress.
const progressStep = 100
