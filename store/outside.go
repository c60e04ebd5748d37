package store

import (
	"fmt"
	"path"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// sharedPorts returns a warning for each Namespace whose annotation gatefold.io/gateway-ports lists a port that
// belongs to another Namespace.
func (s *problemLists) sharedPorts() (all []manifest.Problem) {
	for namespace, other := range s.serving.fence.policy.Overlaps() {
		key := manifest.Key{Kind: kindNamespace, Name: namespace}
		p := manifest.Problem{
			Code: "PortShared", Severity: manifest.Warning, File: s.serving.served[key].path(), Object: key, Field: "metadata.annotations[" + tenancy.AnnotationPorts + "]",
			Message: fmt.Sprintf("namespace %s has a port that namespace %s has as well: it belongs to %s, and Gateways of %s cannot open it", namespace, other, other, namespace),
			Hint:    "give each port to one namespace",
		}
		if d := s.serving.served[key].definition; d != nil {
			var text showing
			where := text.place(d, p.Field)
			p.Line, p.Column, p.Excerpt = where.line+d.document.line-1, where.column, text.excerpt(d, where)
		}
		all = append(all, p)
	}
	return all
}

// maxOutside is how many rejected objects of one file have a problem of their own.
const maxOutside = 50

// outsideProblems returns a problem for each definition that the path policies reject. Path policies (package
// tenancy) say which files may define which objects. outsideProblems lists at most maxOutside definitions of a file.
// If a file has more, one further problem says how many are not listed.
func (s *problemLists) outsideProblems() []manifest.Problem {
	byFile := map[*file][]*definition{}
	for key := range s.serving.fence.outside {
		for _, d := range s.serving.found[key] {
			if s.serving.fence.rejects(d) {
				byFile[d.file] = append(byFile[d.file], d)
			}
		}
	}
	var all []manifest.Problem
	var text showing
	for f, refused := range byFile {
		slices.SortFunc(refused, compareDefinitions)
		for _, d := range refused[:min(len(refused), maxOutside)] {
			all = append(all, s.outsideProblem(d, &text))
		}
		if more := len(refused) - maxOutside; more > 0 {
			all = append(all, manifest.Problem{
				Code: "MoreProblems", Severity: manifest.Error, File: f.path,
				Message: fmt.Sprintf("the file has %d more objects that it may not define, which are not listed", more),
			})
		}
	}
	return all
}

// outsideProblem returns the problem of an object in a file that is not allowed to define the object (see package
// tenancy). The parameter d is the object as the file defines it. outsideProblem uses the parameter text to compute
// the line, the column and the excerpt of the problem.
func (s *problemLists) outsideProblem(d *definition, text *showing) manifest.Problem {
	why, _ := s.serving.fence.check(d.file.path, d.object)
	p := manifest.Problem{
		Code: why.code, Severity: manifest.Error, File: d.file.path, Line: d.line(), Column: d.place.column,
		Object: d.object.Key, Field: why.field, Message: why.Message, Hint: why.Hint,
	}
	where := d.place
	if why.field != "metadata.name" {
		where = text.place(d, why.field)
		p.Line, p.Column = where.line+d.document.line-1, where.column
	}
	if at, serves := s.serving.served[d.object.Key]; serves {
		p.Message += fmt.Sprintf("; the one of %s is still served", path.Join(s.prefix, at.path()))
	}
	p.Excerpt = text.excerpt(d, where)
	return p
}
