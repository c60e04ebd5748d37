package lsp

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/gatefold/gatefold/store/codes"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/watcher"
)

// maxDiagnostics is the highest number of diagnostics for one file.
const maxDiagnostics = 500

// shown has the diagnostics that the editor got last, by file.
type shown struct {
	uri   func(name string) string
	files map[string]shownFile
}

// shownFile has the problems that the editor got last for a file, and the version of the file.
type shownFile struct {
	uri      string
	hash     watcher.Hash // of the open document; zero if the file is not open
	problems []manifest.Problem
}

// newShown returns the initial value of the type shown: it has no files, because the editor has no diagnostics yet.
// The parameter uri is a function that returns the URI of a file of the folder.
func newShown(uri func(string) string) *shown {
	return &shown{uri: uri, files: map[string]shownFile{}}
}

// update returns the messages after which the editor shows exactly these problems, which must be sorted by file.
// There is no message for a file without changes. The parameter open has the documents that are open in the
// editor, by file. The parameter read is a function that returns the text of a file on disk.
func (s *shown) update(problems []manifest.Problem, open map[string]*document, read func(name string) *text) (out []publishParams) {
	before := s.files
	s.files = make(map[string]shownFile, len(before))
	for len(problems) > 0 {
		name, n := problems[0].File, 1
		for n < len(problems) && problems[n].File == name {
			n++
		}
		file := shownFile{uri: s.uri(name), problems: problems[:n:n]}
		if filepath.IsAbs(name) {
			file.uri = uriOf(name)
		}
		problems = problems[n:]
		doc := open[name]
		if doc != nil {
			file.uri, file.hash = doc.uri, doc.hash
		}
		s.files[name] = file
		was, known := before[name]
		if known && was.uri == file.uri && was.hash == file.hash && slices.Equal(was.problems, file.problems) {
			continue
		}
		if known && was.uri != file.uri {
			out = append(out, publishParams{URI: was.uri, Diagnostics: []diagnostic{}})
		}
		out = append(out, publishOf(file, doc, read(name)))
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, still := s.files[name]; !still {
			out = append(out, publishParams{URI: before[name].uri, Diagnostics: []diagnostic{}})
		}
	}
	return out
}

// publishOf returns the message with the diagnostics of a file. If there are more than maxDiagnostics problems,
// one more diagnostic says how many are left out. The parameter doc is the document that is open in the editor,
// or nil. The parameter in is the text on disk.
func publishOf(file shownFile, doc *document, in *text) publishParams {
	out := publishParams{URI: file.uri, Diagnostics: []diagnostic{}}
	if doc != nil {
		out.Version, in = &doc.version, doc.text
	}
	for i, p := range file.problems {
		if i == maxDiagnostics {
			out.Diagnostics = append(out.Diagnostics, diagnostic{
				Severity: severityWarning, Source: source, Message: fmt.Sprintf("%d more problems in this file", len(file.problems)-i),
			})
			break
		}
		out.Diagnostics = append(out.Diagnostics, diagnosticOf(p, in))
	}
	return out
}

// source is the name of the program that editors show with a diagnostic.
const source = "gatefold"

// diagnosticOf returns a problem as a diagnostic. The parameter in is the text of the file.
func diagnosticOf(p manifest.Problem, in *text) diagnostic {
	d := diagnostic{
		Range: rangeOf(p, in), Severity: severityError, Code: p.Code, CodeDescription: &codeDescription{codes.URL(p.Code)},
		Source: source, Message: visible.Text(p.Message),
	}
	if p.Severity == manifest.Warning {
		d.Severity = severityWarning
	}
	if p.Hint != "" {
		d.Message += "\nhelp: " + visible.Text(p.Hint)
	}
	return d
}

// rangeOf returns the range of the key or value that has the problem. If the problem has no line, the range is
// the beginning of the file.
func rangeOf(p manifest.Problem, in *text) span {
	if p.Line == 0 {
		return span{}
	}
	start := in.place(p.Line, p.Column)
	return in.span(start, in.token(start))
}
