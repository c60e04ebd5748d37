package store

import (
	"strings"
	"testing"
)

// FuzzReadSettings: whatever the file says, each mistake has a place, and a key comes once.
func FuzzReadSettings(f *testing.F) {
	for _, text := range []string{
		"", "a: 1\nb: [x, y]\nc: true\n", "a: 1\na: 2\n", "- a\n", "a: &x [*x]\n", "? [a]\n: b\n", "a: {b: c}\n",
		"a: !!binary aGk=\n", "a:\n---\nb: 1\n", "\x00", "<<: {a: 1}\n", strings.Repeat("[", 2000), strings.Repeat("a", MaxSettings+1),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := ReadSettings([]byte(text))
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if line == "" || line[0] < '1' || line[0] > '9' {
					t.Errorf("no place in %q", line)
				}
			}
		}
		seen := map[string]bool{}
		for _, s := range settings {
			if seen[s.Key] || s.Line < 1 || s.Column < 1 || s.Kind == "" {
				t.Errorf("%+v", s)
			}
			seen[s.Key] = true
		}
	})
}
