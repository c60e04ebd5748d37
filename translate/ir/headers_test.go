package ir

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// apply is what Envoy does: remove, set, add.
func apply(m *HeaderMods, headers map[string][]string) map[string][]string {
	out := maps.Clone(headers)
	for _, name := range m.Remove {
		delete(out, strings.ToLower(name))
	}
	for _, h := range m.Set {
		out[strings.ToLower(h.Name)] = []string{h.Value}
	}
	for _, h := range m.Add {
		name := strings.ToLower(h.Name)
		out[name] = append(slices.Clone(out[name]), h.Value)
	}
	return out
}

// everyChange returns all changes of two headers, with a value of their own.
func everyChange(value string, names ...string) []*HeaderMods {
	var all []*HeaderMods
	for bits := range 1 << (3 * len(names)) {
		m := &HeaderMods{}
		for i, name := range names {
			if bits>>(3*i)&1 > 0 {
				m.Remove = append(m.Remove, name)
			}
			if bits>>(3*i)&2 > 0 {
				m.Set = append(m.Set, Header{name, value + "-set"})
			}
			if bits>>(3*i)&4 > 0 {
				m.Add = append(m.Add, Header{name, value + "-add"})
			}
		}
		all = append(all, m)
	}
	return all
}

// Two changes after each other, however names are written, are what Then makes
// of them.
func TestThenIsOneAfterTheOther(t *testing.T) {
	sent := map[string][]string{"x": {"sent"}}
	for _, first := range everyChange("first", "x", "y") {
		for _, next := range everyChange("next", "X", "y") {
			want := apply(next, apply(first, sent))
			if got := apply(first.Then(next), sent); !maps.EqualFunc(got, want, slices.Equal) {
				t.Fatalf("%+v, then %+v: got %v, want %v", first, next, got, want)
			}
		}
	}
}
