package lsp

import (
	"regexp"
	"strings"

	"github.com/gatefold/gatefold/server/lsp/sketch"
	"github.com/gatefold/gatefold/store/manifest"
)

// actionParams are the parameters of textDocument/codeAction.
type actionParams struct {
	TextDocument textDocument `json:"textDocument"`
	Context      struct {
		Diagnostics []diagnostic `json:"diagnostics"`
	} `json:"context"`
}

type action struct {
	Title       string       `json:"title"`
	Kind        string       `json:"kind"`
	Diagnostics []diagnostic `json:"diagnostics"`
	IsPreferred bool         `json:"isPreferred"`
	Edit        edit         `json:"edit"`
}

type edit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

// proposal finds the suggested word in the message of a problem.
var proposal = regexp.MustCompile(`did you mean (?:\w+: )?"?([^\s"?]+)"?\?`)

// actions returns a quick fix for each diagnostic of gatefold that suggests another word ("did you mean"), if the
// word in the text is similar to the suggested one. The list is empty if the document is not open. The error is
// always nil.
func (s *server) actions(p actionParams) (any, error) {
	doc, out := s.documents.get(p.TextDocument.URI), []action{}
	if doc == nil {
		return out, nil
	}
	for _, d := range p.Context.Diagnostics {
		found := proposal.FindStringSubmatch(d.Message)
		if d.Source != source || found == nil {
			continue
		}
		meant := found[1]
		start, end, ok := misspelt(doc, d.Range, meant)
		if !ok {
			continue // the diagnostic is at another place than the wrong word
		}
		if quote := doc.content[start]; quote == '"' || quote == '\'' {
			meant = string(quote) + meant + string(quote)
		}
		out = append(out, action{
			Title: "Change to " + found[1], Kind: "quickfix", Diagnostics: []diagnostic{d}, IsPreferred: true,
			Edit: edit{map[string][]textEdit{doc.uri: {{doc.span(start, end), meant}}}},
		})
	}
	return out, nil
}

// misspelt returns the offsets of the word that a quick fix replaces. The parameter at is the range of the
// diagnostic, and meant is the suggested word. Usually the quick fix replaces the text in the range. If this text is
// not similar to the suggested word, misspelt looks at the mapping around the range: at the values of its fields name
// and sectionName. It returns the offsets of the first similar value. If neither value is similar, ok is false.
func misspelt(doc *document, at span, meant string) (start, end int, ok bool) {
	near := func(start, end int) bool {
		if end <= start {
			return false
		}
		now := strings.Trim(string(doc.content[start:end]), `"'`)
		return manifest.Nearest(now, []string{meant}) != "" || strings.EqualFold(now, meant)
	}
	if start, end = doc.offset(at.Start), doc.offset(at.End); near(start, end) {
		return start, end, true
	}
	spot := sketch.Document(doc.content, start).Find(start)
	if len(spot.Path) == 0 {
		return 0, 0, false
	}
	for _, key := range []string{"name", "sectionName"} {
		if v := spot.Path[len(spot.Path)-1].In.Get(key); v != nil && v.Kind == sketch.Scalar && near(v.Start, v.End) {
			return v.Start, v.End, true
		}
	}
	return 0, 0, false
}
