package store

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// result is the content of one document. It depends only on the text of the document: lines count from the
// beginning of the text, and it names no file.
type result struct {
	items  []item
	broken bool // something in it did not become an object
	plain  bool // it is one valid object, and can be restored from a Checked alone (see isPlain)
	beside *remarks
}

// remarks has everything in a document other than items: rejected objects, objects of kinds that gatefold does
// not read, and problems. Most documents have none of these.
type remarks struct {
	rejected   []rejectedObject
	foreign    []foreign
	problems   []finding
	doubt      []finding  // problems of a text of another program, told only if an object is kept because of it
	unlisted   int        // number of problems that are not in problems
	syntax     error      // the parser's error; document.explain explains it
	unparsed   bool       // the text cannot be parsed
	unreadable []*wording // texts in it that may be policies and cannot be read
}

// remarks returns everything in the document other than items. The result is empty if the document has only
// items.
func (r *result) remarks() remarks {
	if r.beside == nil {
		return remarks{}
	}
	return *r.beside
}

// hidesNamespace reports whether a broken part of the document may be a Namespace.
func (r *result) hidesNamespace() bool {
	said := r.remarks()
	return len(said.doubt) > 0 || r.broken && (said.syntax != nil || said.unlisted > 0 || slices.ContainsFunc(said.problems, func(p finding) bool {
		return p.Severity == manifest.Error && (p.Object.IsZero() || isNamespace(p.Object))
	}))
}

// finding is a problem of a document. If other is not 0, the message has the verb %d once, for the number of
// another line. other is that number, counted from the beginning of the document.
type finding struct {
	manifest.Problem
	other int
	width int // how many characters an excerpt marks; 0 means 1
}

// in returns the problem with lines that count from the beginning of the file. The parameter line is the line of the
// file at which the document begins, from 1.
func (f finding) in(line int) manifest.Problem {
	p := f.Problem
	p.Line += line - 1
	if f.other > 0 {
		p.Message = fmt.Sprintf(p.Message, f.other+line-1)
	}
	return p
}

// item is one valid object of a document. A Gateway or ListenerSet is also an item if its only mistake is
// duplicate listeners (see twinRules).
type item struct {
	object *manifest.Object
	place  place // of the object's name
	twins  bool  // the object has duplicate listeners; it is served only if no other version is valid
	part   *partial
}

// partial has the path of an object in its document, and the text that is saved for the object (Options.Save). An
// object has a partial only in two cases. The object may be a part of the document, such as an item of a list. Or
// the text of the document must not be saved, because it may contain Secrets or users (see documentReader.alone).
type partial struct {
	at    fieldPath // the path of the object in the document; empty if the object is the whole document
	alone []byte    // the text to be saved for the object, instead of the document's text; nil if nothing is saved
}

// at returns the path of the object in the document. It is empty if the object is the whole document.
func (i *item) at() fieldPath {
	if i.part == nil {
		return nil
	}
	return i.part.at
}

// alone returns the text of the object without the rest of the document, for the saved state. It is nil if the
// document itself can be saved, or if nothing is saved.
func (i *item) alone() []byte {
	if i.part == nil {
		return nil
	}
	return i.part.alone
}

// rejectedObject is an object that cannot be served: an object that its schema rejects, or a policy in a
// document that cannot be read.
type rejectedObject struct {
	key     manifest.Key
	invalid *Invalid    // nil if the object is not reported
	place   place       // of the object's name
	cause   spotOfError // the first error of the object, with its line in the document
	// portless has the Backends that may be meant by references without a port, by field.
	portless map[string]manifest.Key
}
