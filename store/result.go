package store

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// result is the content of one document. It depends only on the text: lines count from the
// beginning of the text, and it names no file.
type result struct {
	items  []item
	broken bool // something in it did not become an object
	plain  bool // it is one sound object and says nothing else, so that a Checked holds all of it
	beside *remarks
}

// remarks are the parts of a document other than items. Most documents have none.
type remarks struct {
	rejected []rejectedObject
	foreign  []foreign
	problems []finding
	unlisted int   // problems beside those
	syntax   error // why the parser rejected the text; explained when it is shown
	unparsed bool  // the text has no value: its file looks for policies in it (reader.salvageText)
}

// remarks returns the parts of the document other than its items.
func (r *result) remarks() remarks {
	if r.beside == nil {
		return remarks{}
	}
	return *r.beside
}

// hidesNamespace reports whether a broken part of the document may be a Namespace.
func (r *result) hidesNamespace() bool {
	said := r.remarks()
	return r.broken && (said.syntax != nil || said.unlisted > 0 || slices.ContainsFunc(said.problems, func(p finding) bool {
		return p.Severity == manifest.Error && (p.Object.IsZero() || isNamespace(p.Object))
	}))
}

// finding is a problem of a document. Its message may have one verb, %d, for the number of another
// line of the document.
type finding struct {
	manifest.Problem
	other int
	width int // how many characters the place has; 0 for one
}

// item is one object of a document that may serve.
type item struct {
	object *manifest.Object
	place  place // of the object's name
	twins  bool  // among its listeners: it serves where nothing better does
	part   *partial
}

// partial describes an object that is only a part of its document.
type partial struct {
	at    fieldPath // leads to the object in the document; empty for the document itself
	alone []byte    // the object without what else the document holds, to be saved; nil where the document may be
}

// at returns the path of the object in the document.
func (i *item) at() fieldPath {
	if i.part == nil {
		return nil
	}
	return i.part.at
}

// alone returns the text of the object without the rest of the document, to be saved. It is nil if
// the document itself may be saved.
func (i *item) alone() []byte {
	if i.part == nil {
		return nil
	}
	return i.part.alone
}

// rejectedObject is an object that its schema rejects.
type rejectedObject struct {
	key     manifest.Key
	invalid *Invalid    // nil where nothing is told of it
	place   place       // of the object's name
	cause   spotOfError // of an invalid policy, in the document
}
