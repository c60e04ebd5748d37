package store

import (
	"errors"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// place is a place in a text: line and column from 1, and the number of characters that an excerpt marks, at
// least 1.
type place struct {
	line, column, width int
}

// find returns the place of the value at a path. If the value is missing, empty or not a scalar, find returns the
// same place as findKey.
func find(root *yaml.Node, path fieldPath) place {
	at, value := descend(root, path)
	if value != nil && value.Kind == yaml.ScalarNode && value.Value != "" {
		at = value
	}
	return placeOf(at)
}

// findKey follows a path from root as far as the path exists. It returns the place of the last key or list item
// that it reaches.
func findKey(root *yaml.Node, path fieldPath) place {
	at, _ := descend(root, path)
	return placeOf(at)
}

// descend follows a path from root as far as the path exists. The result reached is the last key or list item on this
// way. The result value is the value at the end of the path, or nil if the path does not exist.
func descend(root *yaml.Node, path fieldPath) (reached, value *yaml.Node) {
	reached, value = root, root
	for _, s := range path {
		key, below := child(value, s)
		if below == nil {
			return reached, nil
		}
		reached, value = key, below
	}
	return reached, value
}

// child returns the value to which the step s leads in the node n, and the key of that value. For an item of a
// list, both results are the item. Both are nil if n has no such key or item.
func child(n *yaml.Node, s step) (key, value *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.SequenceNode && !s.named && s.index < len(n.Content) {
		return n.Content[s.index], n.Content[s.index]
	}
	if n.Kind != yaml.MappingNode || !s.named {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name, err := keyName(n.Content[i]); err == nil && name == s.key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// placeOf returns the place of a node. The width of a plain or quoted scalar is the number of characters in its
// value and its quotes, at least 1. The width of other nodes is 1.
func placeOf(n *yaml.Node) place {
	width := 1
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		width = max(1, utf8.RuneCountInString(n.Value))
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			width += 2
		}
	}
	return place{n.Line, n.Column, width}
}

// keyName returns the text of a key. Numbers and booleans become the same text as in sigs.k8s.io/yaml. It
// returns an error for a mapping, a list, null, an integer above the range of int64, and an invalid scalar.
func keyName(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", errors.New("a mapping or a list cannot be a key")
	}
	value, err := resolve(n)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return formatFloatKey(v), nil
	}
	return "", errors.New(quote(n.Value) + " cannot be a key")
}
