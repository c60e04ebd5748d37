package lsp

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/server/lsp/sketch"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/store/visible"
)

// placeParams are the parameters of a request about a position in a document.
type placeParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     position     `json:"position"`
}

type hoverResult struct {
	Contents markup `json:"contents"`
	Range    span   `json:"range"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// spotAt returns the key or value at a position of a document (spot), and the Kubernetes object that contains it
// (o). doc is nil if the document is not open, or if there is no key or value at the position.
func (s *server) spotAt(p placeParams) (doc *document, o subject, spot sketch.Spot) {
	if doc = s.documents.get(p.TextDocument.URI); doc == nil {
		return nil, o, spot
	}
	offset := doc.offset(p.Position)
	root := sketch.Document(doc.content, offset)
	if spot = root.Find(offset); len(spot.Path) == 0 {
		return nil, o, spot
	}
	return doc, s.subjectOf(root), spot
}

// hover returns a description of the field at a position. If the value of the field names an object, the text
// also says where that object is defined. The result is nil if there is no field at the position, or if the
// field is not known. The error is always nil.
func (s *server) hover(p placeParams) (any, error) {
	doc, o, spot := s.spotAt(p)
	if doc == nil {
		return nil, nil //nolint:nilnil // there is nothing to show
	}
	at := follow(o.schema, spot.Path)
	if at == nil {
		return nil, nil //nolint:nilnil // an unknown field has a diagnostic instead
	}
	last := spot.Path[len(spot.Path)-1]
	mandatory := last.Key != "" && required(follow(o.schema, spot.Path[:len(spot.Path)-1]), last.Key)
	text := describe(pathText(spot.Path), at, mandatory)
	out := hoverResult{Contents: markup{Kind: "markdown"}}
	if spot.Key != nil {
		out.Range = doc.span(spot.Key.Start, spot.Key.End)
	} else if spot.Value != nil {
		out.Range = doc.span(spot.Value.Start, spot.Value.End)
	}
	if ref, ok := o.referenceAt(spot.Path, scalarOf(spot)); ok && ref.to.Name != "" {
		text += "\n\n" + s.target(doc, ref.to)
	}
	out.Contents.Value = text
	return out, nil
}

// scalarOf returns the text of the value at a spot. If the spot is at a key, it returns the text of the value of
// that key. It returns "" if the value is not a scalar.
func scalarOf(spot sketch.Spot) string {
	if spot.Key != nil {
		return spot.Key.Value.Text()
	}
	return spot.Value.Text()
}

// describe returns a Markdown text about a field, from its schema. The parameter mandatory is true if the field
// is required.
func describe(path string, s schema.JSONSchema, mandatory bool) string {
	title := code(path) + ": " + typeOf(s)
	if mandatory {
		title += ", required"
	}
	parts := []string{title}
	if text, _ := s["description"].(string); text != "" {
		parts = append(parts, text)
	}
	if values := list(s, "enum"); len(values) > 0 {
		for i := range values {
			values[i] = code(values[i])
		}
		parts = append(parts, "Values: "+strings.Join(values, ", "))
	}
	if s["default"] != nil {
		parts = append(parts, "Default: "+code(fmt.Sprint(s["default"])))
	}
	return strings.Join(parts, "\n\n")
}

// code returns a text as code in Markdown. Control characters and backquotes are replaced.
func code(text string) string {
	return "`" + strings.ReplaceAll(visible.Text(text), "`", "'") + "`"
}

// target returns a Markdown text about the object to which a reference refers: where the object is defined, or
// that no file defines it.
func (s *server) target(doc *document, to manifest.Key) string {
	name := code(to.String())
	place, uri := s.placeOf(doc, manifest.Field{Object: to})
	if uri == "" {
		return "→ " + name + ", which no file of the folder defines"
	}
	return fmt.Sprintf("→ %s in [%s](%s#L%d)", name, visible.Text(strings.NewReplacer("[", "(", "]", ")").Replace(fmt.Sprintf("%s:%d", place.File, place.Line))), uri, place.Line)
}

// placeOf returns where a field is written: the file, line and column (place), and the URI of the file. uri is "" if
// no file of the folder has the field, or if the document doc is in no folder of the workspace.
func (s *server) placeOf(doc *document, field manifest.Field) (place store.Place, uri string) {
	s.withLive(doc, func(p *project, live *engine.Live) {
		if place = live.Place(field); place.File == "" || place.Line == 0 {
			return
		}
		uri = p.uri(place.File)
		if open := p.documents()[place.File]; open != nil {
			uri = open.uri
		}
	})
	return place, uri
}

// withLive calls the function do with the project (workspace folder) that contains a document, and locks the
// project during the call. If no project contains the document, do is not called.
func (s *server) withLive(doc *document, do func(p *project, live *engine.Live)) {
	for _, p := range s.projects {
		if _, ok := p.name(doc.path); ok && doc.path != "" {
			p.mu.Lock()
			defer p.mu.Unlock()
			do(p, p.live)
			return
		}
	}
}

// definition returns where an object is defined: the object to which the reference at a position of a document
// refers. The result is nil if there is no reference at the position, or if no file defines the object. The name of
// an object in its own metadata is no reference. The error is always nil.
func (s *server) definition(p placeParams) (any, error) {
	doc, o, spot := s.spotAt(p)
	if doc == nil {
		return nil, nil //nolint:nilnil // there is no reference
	}
	ref, ok := o.referenceAt(spot.Path, scalarOf(spot))
	if !ok || ref.to.Name == "" {
		return nil, nil //nolint:nilnil // there is no reference
	}
	place, uri := s.placeOf(doc, manifest.Field{Object: ref.to, Path: "metadata.name"})
	if uri == "" {
		return nil, nil //nolint:nilnil // no file defines the object
	}
	at := position{Line: place.Line - 1}
	if target := s.documents.get(uri); target != nil {
		at = target.position(target.place(place.Line, place.Column))
	}
	return location{URI: uri, Range: span{at, at}}, nil
}
