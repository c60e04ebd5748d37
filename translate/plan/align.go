package plan

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// entry is a rule of a table that can answer: no rule before it has the same match.
type entry struct {
	rule *ir.Rule
	// place is its index in the table's entries.
	place  int
	match  string // the same for equal matches
	effect effect
	// twin is the entry of the other table with the same match and in the same order among the
	// twins; nil if there is none.
	twin *entry
	// changed is true if the entry has no twin, or one with another effect.
	changed bool
}

// table is the rules for one host, in the order in which they are tried.
type table struct {
	view    *ir.HostView // nil if there is no virtual host
	entries []*entry
}

// newTable returns the rules of a virtual host that serve a host. nil is a host without rules.
func newTable(view *ir.HostView, host string, effects *effects) *table {
	t := &table{view: view}
	if view == nil {
		return t
	}
	known := map[string]bool{}
	for rule := range view.Rules {
		if !serves(&rule.Match, host) {
			continue
		}
		match := matchKey(&rule.Match)
		if known[match] {
			continue // it never answers
		}
		known[match] = true
		t.entries = append(t.entries, &entry{rule: rule, place: len(t.entries), match: match, effect: effects.ofRule(rule)})
	}
	return t
}

// serves reports whether a rule that is narrowed to some hosts serves a host.
func serves(match *ir.Match, host string) bool {
	return len(match.Hosts) == 0 || slices.ContainsFunc(match.Hosts, func(pattern string) bool { return explain.Covers(pattern, host) })
}

// matchKey returns a text for a match. Matches of one host with equal texts match the same
// requests.
func matchKey(m *ir.Match) string {
	var b strings.Builder
	b.Grow(len(m.Path.Value) + 16)
	fmt.Fprintf(&b, "%d%q%q%q", m.Path.Kind, m.Path.Value, m.Within, m.Method)
	for i, list := range [][]ir.ValueMatch{m.Headers, m.Query} {
		if len(list) == 0 {
			continue
		}
		texts := make([]string, len(list))
		for j, one := range list {
			texts[j] = fmt.Sprintf(" %d%q%q%t", i, one.Name, one.Value, one.Regex)
		}
		slices.Sort(texts)
		for _, text := range slices.Compact(texts) {
			b.WriteString(text)
		}
	}
	return b.String()
}

// align pairs the rules of two tables as twins: among the rules with equal matches, the most that
// have the same order in both tables. changed is true if the effects of some twins differ; always
// treats all effects as different.
//
// A request that meets a twin in both tables meets the two rules of one pair. Otherwise the twin of
// the other rule would come before the rule, and match first.
func align(before, after *table, always bool) (changed bool) {
	places := make(map[string]*entry, len(after.entries))
	for _, e := range after.entries {
		places[e.match] = e
	}
	var common []*entry
	for _, e := range before.entries {
		if places[e.match] != nil {
			common = append(common, e)
		}
	}
	for _, e := range longestRise(common, func(e *entry) int { return places[e.match].place }) {
		e.twin = places[e.match]
		e.twin.twin = e
	}
	for _, entries := range [][]*entry{before.entries, after.entries} {
		for _, e := range entries {
			e.changed = always || e.twin == nil || e.twin.effect != e.effect
			changed = changed || e.changed
		}
	}
	return changed
}

// longestRise returns a longest subsequence with increasing values.
func longestRise[T any](list []T, value func(T) int) []T {
	var ends []int // ends[n] is the index of the least value that ends a rise of n+1
	before := make([]int, len(list))
	for i, one := range list {
		n := sort.Search(len(ends), func(n int) bool { return value(list[ends[n]]) >= value(one) })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	rise := make([]T, len(ends))
	for n, i := len(ends)-1, ends[len(ends)-1]; n >= 0; n, i = n-1, before[i] {
		rise[n] = list[i]
	}
	return rise
}
