package store

import (
	"cmp"

	"github.com/gatefold/gatefold/store/manifest"
)

// spotOfError names the error that makes an object invalid.
type spotOfError struct {
	file         string
	line, column int
	code         string
}

// causeOf returns the error that comes first in the text of a document.
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

// cause names a file and an object of it. The Key is zero for errors that name no object.
type cause struct {
	path string
	key  manifest.Key
}

// causes are the first errors of each file: for each object, without an object, and of any kind.
type causes struct {
	own map[cause]manifest.Problem
	any map[string]manifest.Problem
}

// causesOf groups the errors of sorted problems.
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

// of returns the error that makes an object of a file stale. That is the object's own error, else
// one without an object such as a syntax error, else the file's first error. It is zero if there is
// none.
func (c causes) of(path string, key manifest.Key) manifest.Problem {
	for _, at := range []cause{{path, key}, {path: path}} {
		if p := c.own[at]; p.Code != "" {
			return p
		}
	}
	return c.any[path]
}
