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

// definition is one sound object at its place. It outlives an edit of its file
// that leaves it alone: then only its place changes.
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

// root parses the text again; nil when that fails.
func (d *document) root() *yaml.Node {
	root, err := parseYAML(bytes.NewReader(d.text))
	if err != nil || root == nil {
		return nil
	}
	correctLines(root, d.text)
	return root
}

// find returns the place of a field in the document that root is of.
func (d *definition) find(root *yaml.Node, field string) place {
	if root == nil {
		return d.place
	}
	return find(root, slices.Concat(d.at(), parsePath(field)))
}

// value returns what the document holds, as far as it can be read.
func (d *document) value() any {
	root := d.root()
	if root == nil {
		return nil
	}
	value, _ := decodeYAML(root)
	return value
}

// saved is the text to be saved of a definition.
func (d *definition) saved() []byte {
	if alone := d.alone(); alone != nil {
		return alone
	}
	return d.document.text
}

// explain says why the parser rejected the document, thoroughly or not.
func (d *document) explain(thoroughly bool) finding {
	if thoroughly {
		return explainSyntax(d.text, d.remarks().syntax)
	}
	return nameSyntax(d.remarks().syntax)
}
