package sketch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// show writes a value in one line: {key: value, unfinished?}, [item].
func show(n *Node) string {
	switch {
	case n == nil:
		return "~"
	case n.Kind == Scalar:
		return n.Value
	}
	var parts []string
	for _, e := range n.Entries {
		if !e.Colon {
			parts = append(parts, e.Key+"?")
			continue
		}
		parts = append(parts, e.Key+": "+show(e.Value))
	}
	for _, item := range n.Items {
		parts = append(parts, show(item))
	}
	if n.Kind == Sequence {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func TestUnfinished(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb":                          "{a: 1, b?}",
		"b\na: 1":                          "{b?, a: 1}",
		"a:\n  b\nc: 1":                    "{a: b, c: 1}",
		"a:\n- b: 1\n- \nc: 2":             "{a: [{b: 1}, ~], c: 2}",
		"a:\n  - b: 1\n    c\n  d: 1":      "{a: [{b: 1, c?}]}",
		"a: [{b: \nc: 1":                   "{a: [{b: ~}], c: 1}",
		"a: {b: 1, c\nd: 1":                "{a: {b: 1, c?}, d: 1}",
		"a: {b: [1, 2}\nd: 1":              "{a: {b: [1, 2]}, d: 1}",
		"a: \"open\nb: 1":                  "{a: open, b: 1}",
		"a: |\n  x: 1\n\n  y\nb: 1":        "{a: |\n  x: 1\n\n  y, b: 1}",
		"a: x # no: key\nb: 'it''s'":       "{a: x, b: it''s}",
		"a: one\n  two\nb: http://x:80/#y": "{a: one, b: http://x:80/#y}",
		"a: &x !!str v\n\"b\": {\"c\":d}":  "{a: v, b: {c: d}}",
		"a: 1\n    b: 2\nc: 3":             "{a: 1, c: 3}",
		"  a: 1\nb: 2":                     "{a: 1, b: 2}",
		"a:\r\n  b: 1\r\n  c:\r\n":         "{a: {b: 1, c: ~}}",
		"a: {\n  b: 1,\n  c: [x,\n    y]}": "{a: {b: 1, c: [x, y]}}",
		"- - a: 1\n    b: 2\n  - c":        "[[{a: 1, b: 2}, c]]",
		"a: }]\nb: 1":                      "{a: }], b: 1}",
		"":                                 "~",
	} {
		if got := show(Document([]byte(text), 0)); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestEqualsYAML holds each key and scalar of the examples against the parser of YAML.
func TestEqualsYAML(t *testing.T) {
	files, _ := filepath.Glob("../../../examples/*/*.yaml")
	more, _ := filepath.Glob("../../../examples/*/*/*.yaml")
	seen := 0
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; ; {
			start, end := bounds(text, at)
			var want yaml.Node
			if err := yaml.Unmarshal(text[start:end], &want); err == nil && len(want.Content) > 0 {
				starts := lineStarts(text[start:end], start)
				compare(t, fmt.Sprintf("%s at %d", file, start), Document(text, at), want.Content[0], starts)
				seen++
			}
			if end == len(text) {
				break
			}
			at = end + 4
		}
	}
	if seen < 50 {
		t.Errorf("only %d documents", seen)
	}
}

func lineStarts(text []byte, from int) []int {
	starts := []int{from}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, from+i+1)
		}
	}
	return starts
}

func compare(t *testing.T, where string, got *Node, want *yaml.Node, starts []int) {
	t.Helper()
	if want.Kind == yaml.ScalarNode && want.Tag == "!!null" && got == nil {
		return
	}
	kinds := map[yaml.Kind]Kind{yaml.ScalarNode: Scalar, yaml.MappingNode: Mapping, yaml.SequenceNode: Sequence}
	if got == nil || got.Kind != kinds[want.Kind] || got.Start != starts[want.Line-1]+len(string([]rune(strings.Repeat("x", want.Column-1)))) {
		t.Fatalf("%s: got %s, want %s in line %d", where, show(got), want.Value, want.Line)
	}
	switch want.Kind {
	case yaml.MappingNode:
		if len(got.Entries) != len(want.Content)/2 {
			t.Fatalf("%s: got %s, want %d entries", where, show(got), len(want.Content)/2)
		}
		for i, e := range got.Entries {
			key := want.Content[2*i]
			if e.Key != key.Value || e.Start != starts[key.Line-1]+key.Column-1 {
				t.Fatalf("%s: got key %s, want %s", where, e.Key, key.Value)
			}
			compare(t, where+"."+e.Key, e.Value, want.Content[2*i+1], starts)
		}
	case yaml.SequenceNode:
		if len(got.Items) != len(want.Content) {
			t.Fatalf("%s: got %s, want %d items", where, show(got), len(want.Content))
		}
		for i, item := range got.Items {
			compare(t, fmt.Sprintf("%s[%d]", where, i), item, want.Content[i], starts)
		}
	}
}

// FuzzDocument: any text is read, all offsets are in it, and each is found.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{"a: {b: [1, {c", "- - x\n -\n", "a:\n  - b: |\n   x\n c", "\"a\n: :", "{}]}:\n[", "&a !b\n- ", "a: 1\r\n---\r\nb"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, offset int) {
		var walk func(n *Node)
		within := func(start, end int) {
			if start < 0 || end < start || end > len(text) {
				t.Fatalf("%d to %d of %d", start, end, len(text))
			}
		}
		walk = func(n *Node) {
			if n == nil {
				return
			}
			within(n.Start, n.End)
			for _, e := range n.Entries {
				within(e.Start, e.End)
				walk(e.Value)
			}
			for _, item := range n.Items {
				walk(item)
			}
		}
		root := Document(text, offset)
		walk(root)
		if root != nil {
			root.Find(offset)
		}
	})
}
