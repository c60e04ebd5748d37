package store

import (
	"fmt"
	"reflect"
	"testing"
)

func TestSplitDocuments(t *testing.T) {
	for _, test := range []struct {
		name, content string
		want          []string // "line|text"
	}{
		{"empty", "", nil},
		{"only comments", "# a\n\n---\n# b\n...\n---", nil},
		{"one, no newline at the end", "a: 1", []string{"1|a: 1"}},
		{"three", "a: 1\n---\nb: 1\n---\nc: 1\n", []string{"1|a: 1\n", "3|b: 1\n", "5|c: 1\n"}},
		{"marker first, empty ones between", "---\n---\n\n---\na: 1\n---\n", []string{"5|a: 1\n"}},
		{"leading comment stays", "# head\na: 1\n", []string{"1|# head\na: 1\n"}},
		{"comment before the marker is dropped", "# license\n---\na: 1\n", []string{"3|a: 1\n"}},
		{"marker with comment", "a: 1\n--- # second\nb: 1\n", []string{"1|a: 1\n", "3|b: 1\n"}},
		{"marker with content", "a: 1\n--- {b: 1}\n---\tc\n", []string{"1|a: 1\n", "2|--- {b: 1}\n", "3|---\tc\n"}},
		{"longer than a marker", "a: 1\n----\n---x\n", []string{"1|a: 1\n----\n---x\n"}},
		{"indented in a block scalar", "a: |\n  ---\n  x\n---\nb: 1\n", []string{"1|a: |\n  ---\n  x\n", "5|b: 1\n"}},
		{"at the margin a block scalar ends", "a: |\n  x\n---\nb: 1\n", []string{"1|a: |\n  x\n", "4|b: 1\n"}},
		{"document end", "a: 1\n...\nb: 1\n... # c\n", []string{"1|a: 1\n", "3|b: 1\n"}},
		{"directives stay with their document", "%YAML 1.1\n# c\n---\na: 1\n...\n%TAG ! !x\n--- \nb: 1\n",
			[]string{"1|%YAML 1.1\n# c\n---\na: 1\n", "6|%TAG ! !x\n--- \nb: 1\n"}},
		{"directive alone", "%YAML 1.1\n", []string{"1|%YAML 1.1\n"}},
		{"percent inside a document", "a: 1\n%b\n---\nc: 1", []string{"1|a: 1\n%b\n", "4|c: 1"}},
		{"byte order mark", "\ufeffa: 1\n---\nb: 1", []string{"1|a: 1\n", "3|b: 1"}},
		{"CRLF", "a: 1\r\n---\r\nb: 1\r\n...\r\n", []string{"1|a: 1\r\n", "3|b: 1\r\n"}},
	} {
		var got []string
		for _, p := range splitDocuments([]byte(test.content)) {
			got = append(got, fmt.Sprintf("%d|%s", p.line, p.text))
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
