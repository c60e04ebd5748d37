package store

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is one document of a file.
type document struct {
	part
	*result
}

// definition is one valid object at its place. If an edit of its file does not touch it, the
// definition stays and only its place changes.
type definition struct {
	*item    // of the document
	file     *file
	document *document
	order    int // in the file
}

// line is the line of the object's name.
func (d *definition) line() int { return d.document.line + d.place.line - 1 }

// compareDefinitions orders definitions by file and place.
func compareDefinitions(a, b *definition) int {
	return cmp.Or(strings.Compare(a.file.path, b.file.path), cmp.Compare(a.order, b.order))
}

// root parses the text again. It returns nil if that fails.
func (d *document) root() *yaml.Node {
	root, err := parseYAML(bytes.NewReader(d.text))
	if err != nil || root == nil {
		return nil
	}
	correctLines(root, d.text)
	return root
}

// find returns the place of a field in the document with the given root.
func (d *definition) find(root *yaml.Node, field string) place {
	if root == nil {
		return d.place
	}
	return find(root, slices.Concat(d.at(), parsePath(field)))
}

// value returns the value of the document, as far as it can be read.
func (d *document) value() any {
	root := d.root()
	if root == nil {
		return nil
	}
	value, _ := decodeYAML(root)
	return value
}

// saved returns the text of a definition for the saved state.
func (d *definition) saved() []byte {
	if alone := d.alone(); alone != nil {
		return alone
	}
	return d.document.text
}

// explain returns why the parser rejected the document. Without thoroughly it does not look for the
// place.
func (d *document) explain(thoroughly bool) finding {
	if thoroughly {
		return explainSyntax(d.text, d.remarks().syntax)
	}
	return nameSyntax(d.remarks().syntax)
}
