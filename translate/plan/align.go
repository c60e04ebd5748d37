package plan

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

// entry is a rule in a table, which has the rules for one host in Envoy's order. A rule has no entry if an
// earlier rule of the table has the same match, because Envoy never reaches such a rule.
type entry struct {
	rule *ir.Rule
	// place is the index in table.entries.
	place  int
	match  string // a key: equal for equal matches
	effect effect
	// twin is the entry of the other table with the same match. It is nil if there is none, or if a change of
	// order separates the two entries (see align).
	twin *entry
	// changed is true if the entry has no twin, or if the twin has another effect. If the parameter force of the
	// function align was true, changed is true for all entries.
	changed bool
}

// table has the rules for one host, in the order in which Envoy tries them.
type table struct {
	view    *ir.HostView // nil if there is no virtual host
	entries []*entry
}

// newTable returns the table with the rules of a virtual host for one host, in Envoy's order. The parameter view
// is the virtual host. A rule is left out if an earlier rule has the same match. If view is nil, the table has no
// entries.
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
			continue // it never matches
		}
		known[match] = true
		t.entries = append(t.entries, &entry{rule: rule, place: len(t.entries), match: match, effect: effects.ofRule(rule)})
	}
	return t
}

// serves reports whether a match applies to a host. A match without Hosts applies to every host.
func serves(match *ir.Match, host string) bool {
	return len(match.Hosts) == 0 || slices.ContainsFunc(match.Hosts, func(pattern string) bool { return scope.CoversHost(pattern, host) })
}

// matchKey returns a key for a match. Matches with equal keys match the same requests of a host.
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

// align pairs the entries of two tables, and sets the fields twin and changed of all entries. Entries with equal
// matches become twins if they have the same order in both tables. If the order of some entries differs, align leaves
// as few of them as possible without a twin. If force is true, every entry counts as changed. The result is true if
// any entry is changed.
//
// Because twins have the same order in both tables, align guarantees the following. For any request, take from each
// table the first entry that matches the request. If both of these entries have a twin, they are twins of each other.
func align(before, after *table, force bool) (changed bool) {
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
			e.changed = force || e.twin == nil || e.twin.effect != e.effect
			changed = changed || e.changed
		}
	}
	return changed
}

// longestRise returns a longest subsequence of list with strictly increasing values.
func longestRise[T any](list []T, value func(T) int) []T {
	var ends []int // ends[n] is the index of the least value that ends an increasing subsequence of length n+1
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
