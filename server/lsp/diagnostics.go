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

// maxDiagnostics bounds what is shown of one file.
const maxDiagnostics = 500

// shown is what the editor was sent last, by file.
type shown struct {
	uri   func(name string) string
	files map[string]shownFile
}

// shownFile is what the editor was sent of a file, and what that was made of.
type shownFile struct {
	uri      string
	hash     watcher.Hash // of the open document, zero for none
	problems []manifest.Problem
}

func newShown(uri func(string) string) *shown {
	return &shown{uri: uri, files: map[string]shownFile{}}
}

// update returns what the editor must be sent for the problems, sorted by file, to be those that it
// shows. read returns the text of a file.
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

// source is what editors show beside a diagnostic.
const source = "gatefold"

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

// rangeOf returns the key or value that a problem is about; without a line, the begin of the file.
func rangeOf(p manifest.Problem, in *text) span {
	if p.Line == 0 {
		return span{}
	}
	start := in.place(p.Line, p.Column)
	return in.span(start, in.token(start))
}
