package store

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is one document of a file: its text, and the result of reading it. The result is nil until the
// document is read.
type document struct {
	part
	*result
}

// definition is one valid object at its place in a file. After an edit of the file, the definitions before and
// after the edited part stay the same in memory, and only their places are updated (carryOver).
type definition struct {
	*item    // the object in the document
	file     *file
	document *document
	order    int // index in the definitions of the file
}

// line returns the line of the object's name in its file.
func (d *definition) line() int { return d.document.line + d.place.line - 1 }

// compareDefinitions orders definitions by the path of their file and by their order in the file.
func compareDefinitions(a, b *definition) int {
	return cmp.Or(strings.Compare(a.file.path, b.file.path), cmp.Compare(a.order, b.order))
}

// root parses the text of the document again and returns its root node. It returns nil if the text is empty or
// cannot be parsed.
func (d *document) root() *yaml.Node {
	root, err := parseYAML(d.text)
	if err != nil || root == nil {
		return nil
	}
	correctLines(root, d.text)
	return root
}

// find returns the place (line and column) of a field of the object in its document. root is the document's
// root node (document.root). If root is nil, find returns the place of the object's name.
func (d *definition) find(root *yaml.Node, field string) place {
	if root == nil {
		return d.place
	}
	return find(root, slices.Concat(d.at(), parsePath(field)))
}

// value parses the document again and returns its value. It returns nil if the text is empty or cannot be
// parsed. Values with mistakes are nil or missing.
func (d *document) value() any {
	root := d.root()
	if root == nil {
		return nil
	}
	value, _ := decodeYAML(root)
	return value
}

// saved returns the text from which a Store reads the object again after a restart (Saved.Text). This is the
// text of the document. For an item of a list, or if the document must not be saved, it is the text of the
// object alone.
func (d *definition) saved() []byte {
	if alone := d.alone(); alone != nil {
		return alone
	}
	return d.document.text
}

// explain returns the problem of a document that the parser rejected. If the parameter thoroughly is true, explain
// searches for the place of the mistake, and explains the mistake. If the parameter is false, the problem has only
// the line that the parser names and the parser's message.
func (d *document) explain(thoroughly bool) finding {
	if thoroughly {
		return explainSyntax(d.text, d.remarks().syntax)
	}
	return nameSyntax(d.remarks().syntax)
}
