package store

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// result is what the text of one document says. It depends on nothing but the
// text: lines count from the text's first, and no file is named.
type result struct {
	items  []item
	broken bool // something in it did not become an object
	plain  bool // it is one sound object and says nothing else, so that a Checked holds all of it
	beside *remarks
}

// remarks are what else a document says; most say nothing.
type remarks struct {
	rejected []rejectedObject
	foreign  []foreign
	problems []finding
	unlisted int   // problems beside those
	syntax   error // why the parser rejected the text; explained when it is shown
	unparsed bool  // the text has no value: its file looks for policies in it (reader.salvageText)
}

// remarks returns what the document says beside its items.
func (r *result) remarks() remarks {
	if r.beside == nil {
		return remarks{}
	}
	return *r.beside
}

// hidesNamespace reports whether something that is broken in it may be a Namespace.
func (r *result) hidesNamespace() bool {
	said := r.remarks()
	return r.broken && (said.syntax != nil || said.unlisted > 0 || slices.ContainsFunc(said.problems, func(p finding) bool {
		return p.Severity == manifest.Error && (p.Object.IsZero() || isNamespace(p.Object))
	}))
}

// finding is a problem of a document. Its message may have one verb, %d, for
// another line of the document.
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

// partial says of an object how it is a part of its document, where it is not all of it.
type partial struct {
	at    fieldPath // leads to the object in the document; empty for the document itself
	alone []byte    // the object without what else the document holds, to be saved; nil where the document may be
}

// at leads to the object in the document.
func (i *item) at() fieldPath {
	if i.part == nil {
		return nil
	}
	return i.part.at
}

// alone is the object without what else the document holds, to be saved; nil where the
// document may be.
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
