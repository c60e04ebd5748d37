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

// completionList is the result of textDocument/completion.
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
	InsertTextMode int      `json:"insertTextMode"` // 1: insert lines unchanged
	TextEdit       textEdit `json:"textEdit"`
}

// The kinds of items. Editors show a symbol for each kind.
const (
	itemField     = 5
	itemValue     = 12
	itemReference = 18
)

// asIs is the InsertTextMode by which an editor does not change the indentation.
const asIs = 1

// maxItems is the highest number of proposals.
const maxItems = 500

// marker is inserted in the text at the cursor, so that there is always a token at the cursor.
const marker = "\ue000"

// gap is the token at the cursor, which a proposal replaces.
type gap struct {
	subject
	path  []sketch.Step // the path to the token if it is a value, otherwise to the mapping that has the key
	in    *sketch.Node  // the mapping that has the key; nil if the token is a value
	colon bool          // whether a colon follows the key
	// value is the schema at path: of the value at the cursor or, if the token is a key, of the mapping that has it.
	value  schema.JSONSchema
	edit   span   // the place of the token
	column int    // column of the token, in bytes
	keys   int    // column of the mapping or list that directly contains the token, in bytes
	flow   bool   // inside of brackets
	quote  string // the quote that the token begins with, or ""
}

// completion returns at most maxItems proposals for the position of the cursor: fields, values, or names of
// objects. The result is nil if the document is not open. The error is always nil.
func (s *server) completion(p placeParams) (any, error) {
	doc := s.documents.get(p.TextDocument.URI)
	if doc == nil {
		return nil, nil //nolint:nilnil // the document is not open
	}
	g, ok := s.gapAt(doc, doc.offset(p.Position))
	if !ok {
		return completionList{Items: []completionItem{}}, nil
	}
	var items []completionItem
	if g.in != nil || len(g.path) == 0 { // a key, or the beginning of a document
		items = s.fields(g, g.value, g.in, "")
	} else {
		items = s.values(doc, g)
	}
	if len(items) > maxItems {
		return completionList{true, items[:maxItems]}, nil
	}
	return completionList{Items: append([]completionItem{}, items...)}, nil
}

// gapAt returns the gap at an offset: the token that a proposal replaces, with its schema. ok is false if nothing
// can be completed there, for example in a comment or a block scalar (| or >), in a very long token, or in a
// document that is too large.
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

// columnOf returns the number of bytes between the beginning of the line and an offset.
func columnOf(content []byte, offset int) int {
	return offset - 1 - bytes.LastIndexByte(content[:offset], '\n')
}

// item returns a proposal to replace the token by text.
func (g gap) item(kind int, label, text string) completionItem {
	return completionItem{Label: label, Kind: kind, SortText: label, FilterText: label, InsertTextMode: asIs, TextEdit: textEdit{g.edit, text}}
}

// fields returns proposals for the fields of an object that are not written yet. The parameter object is the schema
// of the object, and the parameter mapping has the written fields, or is nil. The field status, and fields with
// doNotSuggest in the schema, are left out. The inserted text begins with the parameter lead, for example "- " for
// a new item of a list.
func (s *server) fields(g gap, object schema.JSONSchema, mapping *sketch.Node, lead string) (items []completionItem) {
	known, _ := object["properties"].(schema.JSONSchema)
	names := slices.Collect(maps.Keys(known))
	if len(g.path) == 0 {
		names = append(names, "apiVersion", "kind", "metadata")
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		one, _ := known[name].(schema.JSONSchema)
		if one["doNotSuggest"] != nil || name == "status" || has(mapping, name) {
			continue
		}
		text := lead + quoted(name, g.quote)
		if !g.colon {
			text += ":"
			if kind := typeOf(one); kind != "object" && !strings.HasPrefix(kind, "array") || g.flow {
				text += " "
			}
		}
		item := g.item(itemField, name, text)
		item.Detail, item.SortText = typeOf(one), "1"+name
		item.Documentation, _ = one["description"].(string)
		if required(object, name) {
			item.Detail, item.SortText = item.Detail+", required", "0"+name
		}
		items = append(items, item)
	}
	return items
}

// has reports whether a mapping has a key. The mapping may be nil.
func has(in *sketch.Node, key string) bool {
	return in != nil && slices.ContainsFunc(in.Entries, func(e sketch.Entry) bool { return e.Key == key })
}

// values returns proposals for the value at the cursor: the fields of an object, the items of a list, names of
// objects, apiVersions and kinds (kindValues), or the values that the schema lists (enum).
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

// onLineOf reports whether the line of the token has other text before the token.
func (g gap) onLineOf(doc *document) bool {
	line := doc.line(g.edit.Start.Line)
	return len(bytes.TrimSpace(line[:min(g.column, len(line))])) > 0
}

// enum returns proposals for the values of a field: the values of its enum, or true and false, or its default.
// It returns nil if the schema has none of them. The parameter field is the schema of the field. The inserted text
// begins with the parameter lead, for example "- " for a new item of a list.
func (g gap) enum(field schema.JSONSchema, lead string) (items []completionItem) {
	values := list(field, "enum")
	if typeOf(field) == "boolean" {
		values = []string{"true", "false"}
	}
	if field["default"] != nil && len(values) == 0 {
		values = []string{fmt.Sprint(field["default"])}
	}
	for _, value := range values {
		text := quoted(value, g.quote)
		if g.quote == "" && typeOf(field) == "string" && (value == "" || slices.Contains([]string{"true", "false", "off", "on", "yes", "no", "null", "*"}, strings.ToLower(value))) {
			text = quoted(value, `"`)
		}
		item := g.item(itemValue, value, lead+text)
		if field["default"] != nil && fmt.Sprint(field["default"]) == value {
			item.Detail = "default"
		}
		items = append(items, item)
	}
	return items
}

// quoted returns a text in quotes. quote may be "".
func quoted(text, quote string) string { return quote + text + quote }

// kindValues returns proposals for the value of apiVersion or kind. If one of these two fields is written
// already, the proposals for the other one fit it. kindValues returns nil if the cursor is at another field, or
// if no value fits.
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
