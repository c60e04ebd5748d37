package lsp

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/server/lsp/sketch"
	"github.com/gatefold/gatefold/store/schema"
)

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

type completionItem struct {
	Label          string   `json:"label"`
	Kind           int      `json:"kind"`
	Detail         string   `json:"detail,omitempty"`
	Documentation  string   `json:"documentation,omitempty"`
	SortText       string   `json:"sortText,omitempty"`
	FilterText     string   `json:"filterText,omitempty"`
	InsertTextMode int      `json:"insertTextMode"` // 1: lines as they are
	TextEdit       textEdit `json:"textEdit"`
}

// The kinds of items that editors show with a symbol.
const (
	itemField     = 5
	itemValue     = 12
	itemReference = 18
)

const asIs = 1

// maxItems bounds a list.
const maxItems = 500

// marker stands for the cursor: whatever is written before and behind it, it makes a token.
const marker = "\ue000"

// gap is the token that the cursor is in, and what may be written there.
type gap struct {
	subject
	path   []sketch.Step // to the value, or to the mapping of a key
	in     *sketch.Node  // the mapping of a key, nil for a value
	colon  bool          // the key has its colon
	value  schema.JSONSchema
	edit   span   // of the token
	column int    // of the token, in bytes
	keys   int    // the column of the keys beside the value
	flow   bool   // within brackets
	quote  string // that the token begins with
}

// completion proposes fields, values and names of objects at a position.
func (s *server) completion(p placeParams) (any, error) {
	doc := s.documents.get(p.TextDocument.URI)
	if doc == nil {
		return nil, nil //nolint:nilnil // a document that is not open
	}
	g, ok := s.gapAt(doc, doc.offset(p.Position))
	if !ok {
		return completionList{Items: []completionItem{}}, nil
	}
	var items []completionItem
	if g.in != nil || len(g.path) == 0 { // a key, or the first letters of a document
		items = s.fields(g, g.value, g.in, "")
	} else {
		items = s.values(doc, g)
	}
	if len(items) > maxItems {
		return completionList{true, items[:maxItems]}, nil
	}
	return completionList{Items: append([]completionItem{}, items...)}, nil
}

// gapAt returns what is at an offset; ok is false in a comment, a block of text, and where the place is
// none that gatefold knows.
func (s *server) gapAt(doc *document, offset int) (g gap, ok bool) {
	content := slices.Concat(doc.content[:offset], []byte(marker), doc.content[offset:])
	root := sketch.Document(content, offset)
	spot := root.Find(offset + 1)
	if root == nil || spot.Key == nil && spot.Value == nil {
		return g, false
	}
	start, end := 0, 0
	if g.subject = s.subjectOf(root); spot.Key != nil {
		last := len(spot.Path) - 1
		start, end, g.colon = spot.Key.Start, spot.Key.End, spot.Key.Colon
		g.path, g.in = spot.Path[:last], spot.Path[last].In
		g.flow = content[g.in.Start] == '{'
	} else {
		start, end, g.path = spot.Value.Start, spot.Value.End, spot.Path
		for _, step := range g.path {
			g.flow = g.flow || content[step.In.Start] == '{' || content[step.In.Start] == '['
		}
	}
	if end-start > 300 || bytes.IndexByte(content[start:end], '\n') >= 0 || offset < start || offset+len(marker) > end {
		return g, false
	}
	if c := content[start]; c == '"' || c == '\'' {
		g.quote = string(c)
	}
	g.edit = doc.span(start, end-len(marker))
	g.column = columnOf(content, start)
	if n := len(spot.Path); n > 0 {
		g.keys = columnOf(content, spot.Path[n-1].In.Start)
	}
	if len(g.path) == 0 && g.schema == nil {
		g.schema = s.catalog.all()
	}
	g.value = follow(g.schema, g.path)
	return g, true
}

// columnOf returns how many bytes are before an offset on its line.
func columnOf(content []byte, offset int) int {
	return offset - 1 - bytes.LastIndexByte(content[:offset], '\n')
}

// item returns a proposal that replaces the token.
func (g gap) item(kind int, label, text string) completionItem {
	return completionItem{Label: label, Kind: kind, SortText: label, FilterText: label, InsertTextMode: asIs, TextEdit: textEdit{g.edit, text}}
}

// fields proposes the fields of an object that a mapping does not have; before is written before each.
func (s *server) fields(g gap, of schema.JSONSchema, in *sketch.Node, before string) (items []completionItem) {
	known, _ := of["properties"].(schema.JSONSchema)
	names := slices.Collect(maps.Keys(known))
	if len(g.path) == 0 {
		names = append(names, "apiVersion", "kind", "metadata")
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		one, _ := known[name].(schema.JSONSchema)
		if one["doNotSuggest"] != nil || name == "status" || has(in, name) {
			continue
		}
		text := before + quoted(name, g.quote)
		if !g.colon {
			text += ":"
			if kind := typeOf(one); kind != "object" && !strings.HasPrefix(kind, "array") || g.flow {
				text += " "
			}
		}
		item := g.item(itemField, name, text)
		item.Detail, item.SortText = typeOf(one), "1"+name
		item.Documentation, _ = one["description"].(string)
		if required(of, name) {
			item.Detail, item.SortText = item.Detail+", required", "0"+name
		}
		items = append(items, item)
	}
	return items
}

// has reports whether a mapping has a key, beside the one that is being written.
func has(in *sketch.Node, key string) bool {
	return in != nil && slices.ContainsFunc(in.Entries, func(e sketch.Entry) bool { return e.Key == key })
}

// values proposes what may be at the place of a value.
func (s *server) values(doc *document, g gap) []completionItem {
	if items := s.kindValues(g); items != nil {
		return items
	}
	if items := s.references(doc, g); items != nil {
		return items
	}
	last := g.path[len(g.path)-1]
	if items, _ := g.value["items"].(schema.JSONSchema); items != nil && !g.flow {
		if items["properties"] != nil {
			return s.fields(g, items, nil, "- ")
		}
		return g.enum(items, "- ")
	}
	if g.value["properties"] != nil && (last.In.Kind == sketch.Sequence || !g.onLineOf(doc)) && !g.flow {
		return s.fields(g, g.value, nil, "")
	}
	return g.enum(g.value, "")
}

// onLineOf reports whether something is written before the token on its line.
func (g gap) onLineOf(doc *document) bool {
	line := doc.line(g.edit.Start.Line)
	return len(bytes.TrimSpace(line[:min(g.column, len(line))])) > 0
}

// enum proposes the values that a field may have.
func (g gap) enum(of schema.JSONSchema, before string) (items []completionItem) {
	values := list(of, "enum")
	if typeOf(of) == "boolean" {
		values = []string{"true", "false"}
	}
	if of["default"] != nil && len(values) == 0 {
		values = []string{fmt.Sprint(of["default"])}
	}
	for _, value := range values {
		text := quoted(value, g.quote)
		if g.quote == "" && typeOf(of) == "string" && (value == "" || slices.Contains([]string{"true", "false", "off", "on", "yes", "no", "null", "*"}, strings.ToLower(value))) {
			text = quoted(value, `"`)
		}
		item := g.item(itemValue, value, before+text)
		if of["default"] != nil && fmt.Sprint(of["default"]) == value {
			item.Detail = "default"
		}
		items = append(items, item)
	}
	return items
}

func quoted(text, quote string) string { return quote + text + quote }

// kindValues proposes values of apiVersion and kind.
func (s *server) kindValues(g gap) (items []completionItem) {
	if len(g.path) != 1 || g.path[0].Key != "apiVersion" && g.path[0].Key != "kind" {
		return nil
	}
	seen := map[string]bool{}
	for _, k := range s.catalog.kinds() {
		value, other, typed := k[0], k[1], g.kind
		if g.path[0].Key == "kind" {
			value, other, typed = k[1], k[0], g.apiVersion
		}
		if !seen[value] && (typed == "" || typed == other) {
			seen[value] = true
			items = append(items, g.item(itemValue, value, quoted(value, g.quote)))
		}
	}
	return items
}
