package lsp

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/gatefold/gatefold/watcher"
)

// document is one text that is open in the editor. It is immutable; an edit makes another one.
type document struct {
	uri     string
	path    string // in the file system, "" for a document that is no file
	version int
	*text
	hash watcher.Hash
}

// documents are those that are open. Several goroutines may use it.
type documents struct {
	mu    sync.Mutex
	open  map[string]*document // by URI
	units encoding
}

func newDocuments() *documents {
	return &documents{open: map[string]*document{}, units: utf16Units}
}

// set opens a document, or gives an open one another text.
func (d *documents) set(uri string, version int, content []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[uri] = &document{
		uri: uri, path: pathOf(uri), version: version, text: newText(content, d.units), hash: sha256.Sum256(content),
	}
}

func (d *documents) close(uri string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, uri)
}

// get returns an open document, nil for others.
func (d *documents) get(uri string) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[uri]
}

// all returns the open documents that are files, by their paths. Of two of one file the last URI
// counts.
func (d *documents) all() map[string]*document {
	d.mu.Lock()
	defer d.mu.Unlock()
	byPath := map[string]*document{}
	for _, doc := range d.open {
		if other := byPath[doc.path]; doc.path != "" && (other == nil || other.uri < doc.uri) {
			byPath[doc.path] = doc
		}
	}
	return byPath
}

// change applies edits to a document, one after the other.
func (d *documents) change(params changeParams) {
	doc := d.get(params.TextDocument.URI)
	if doc == nil {
		return
	}
	now := doc.text
	for _, c := range params.ContentChanges {
		if c.Range == nil {
			now = newText([]byte(c.Text), doc.units)
			continue
		}
		start, end := now.offset(c.Range.Start), now.offset(c.Range.End)
		now = newText(slices.Concat(now.content[:start], []byte(c.Text), now.content[max(start, end):]), doc.units)
	}
	d.set(doc.uri, params.TextDocument.Version, now.content)
}
