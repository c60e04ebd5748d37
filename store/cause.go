package store

import (
	"cmp"

	"github.com/gatefold/gatefold/store/manifest"
)

// spotOfError names the problem for which an object is invalid.
type spotOfError struct {
	file         string
	line, column int
	code         string
}

// causeOf returns the error among problems of a document that comes first in its text.
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

// cause names a file and an object of it, the zero Key for an error that names none.
type cause struct {
	path string
	key  manifest.Key
}

// causes are the first errors of each file: of each object, of no object, and of any.
type causes struct {
	own map[cause]manifest.Problem
	any map[string]manifest.Problem
}

// causesOf sorts the errors of problems, which are in order.
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

// of returns the error that makes an object of a file stale: its own, else one of no
// object, such as a syntax error, else the file's first; zero for none.
func (c causes) of(path string, key manifest.Key) manifest.Problem {
	for _, at := range []cause{{path, key}, {path: path}} {
		if p := c.own[at]; p.Code != "" {
			return p
		}
	}
	return c.any[path]
}
