package store

import (
	"cmp"

	"github.com/gatefold/gatefold/store/manifest"
)

// spotOfError identifies an error that makes an object invalid, by its place and code.
type spotOfError struct {
	file         string
	line, column int
	code         string
}

// causeOf returns the place and code of the first error in a document. The first error is the one that comes first
// in the document's text. If problems has no error, the result is zero. The result's field file is always "".
func causeOf(problems []finding) (first spotOfError) {
	for _, p := range problems {
		at := spotOfError{line: p.Line, column: p.Column, code: p.Code}
		earlier := cmp.Or(cmp.Compare(at.line, first.line), cmp.Compare(at.column, first.column)) < 0
		if p.Severity == manifest.Error && (first == spotOfError{} || earlier) {
			first = at
		}
	}
	return first
}

// cause is a key of the map causes.own: the path of a file, and the key of the object that an error in the file
// is about. The key is zero for errors that name no object, such as a syntax error.
type cause struct {
	path string
	key  manifest.Key
}

// causes has the errors that may be why objects are stale (see causes.of).
type causes struct {
	// own has, for each file, the first error of each object. If an error names no object, the field key of the cause
	// is zero: in this entry, own has the first such error of the file.
	own map[cause]manifest.Problem
	// any has the first error of each file, whatever object it names.
	any map[string]manifest.Problem
}

// causesOf returns, for each file with errors, the first error of the file, and the first error of each object in it.
// The parameter problems must be sorted. Warnings are ignored.
func causesOf(problems []manifest.Problem) causes {
	c := causes{map[cause]manifest.Problem{}, map[string]manifest.Problem{}}
	for _, p := range problems {
		if p.Severity != manifest.Error {
			continue
		}
		if at := (cause{p.File, p.Object}); c.own[at].Code == "" {
			c.own[at] = p
		}
		if c.any[p.File].Code == "" {
			c.any[p.File] = p
		}
	}
	return c
}

// of returns the error because of which an object is stale, which means that its last valid version is served.
// The parameter path is the object's file. The result is an error about the object itself, if the file has one.
// The second choice is an error that names no object, such as a syntax error. The third choice is the first
// error of the file. The result is zero if the file has no error.
func (c causes) of(path string, key manifest.Key) manifest.Problem {
	for _, at := range []cause{{path, key}, {path: path}} {
		if p := c.own[at]; p.Code != "" {
			return p
		}
	}
	return c.any[path]
}
