package lsp

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/gatefold/gatefold/watcher"
)

// document is a text that is open in the editor. It does not change: an edit creates another document.
type document struct {
	uri     string
	path    string // in the file system; "" if the URI is not of a file
	version int
	*text
	hash watcher.Hash
}

// documents are the open documents. It is safe for concurrent use.
type documents struct {
	mu    sync.Mutex
	open  map[string]*document // by URI
	units encoding
}

// newDocuments returns documents without any open document. Positions count UTF-16 units.
func newDocuments() *documents {
	return &documents{open: map[string]*document{}, units: utf16Units}
}

// set opens a document, or replaces the text of an open document.
func (d *documents) set(uri string, version int, content []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[uri] = &document{
		uri: uri, path: pathOf(uri), version: version, text: newText(content, d.units), hash: sha256.Sum256(content),
	}
}

// close records that the editor has closed a document. The file on disk counts again.
func (d *documents) close(uri string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, uri)
}

// get returns an open document, or nil if no document with this URI is open.
func (d *documents) get(uri string) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[uri]
}

// all returns the open documents that are files, by path. If two URIs have the same path, it returns the
// document with the last URI in alphabetical order.
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

// change applies the edits of a message to a document, one after the other. It does nothing if the document is
// not open.
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
