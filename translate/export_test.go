package translate

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

func (t *Translator) inner() *translator { return t.rules.(*translator) }

// Ran returns a function that returns the rules that ran since it was called last, or since
// Ran was, as "rule key", sorted, each once.
func (t *Translator) Ran() func() []string {
	var ran []string
	t.inner().engine.Trace(func(rule string, key any) { ran = append(ran, fmt.Sprint(rule, " ", key)) }, nil)
	return func() []string {
		slices.Sort(ran)
		out := slices.Compact(ran)
		ran = nil
		return out
	}
}

// Watched makes the Translator call a function in each run of a rule, and when a fold computes a value.
func (t *Translator) Watched(fn func(family string, key any)) { t.inner().engine.Trace(fn, fn) }

// Families returns the rules and folds, and what the present values were computed from.
func (t *Translator) Families() []memo.Family { return t.inner().engine.Families() }

// Cells counts every cell that an input, index, rule or fold has, and their keys, so that a test can see what leaks.
func (t *Translator) Cells() map[string]int { return t.inner().engine.Cells() }

// Tables returns the ordered trees of the rules of all hosts, by host, so that a test can see how much an edit has
// copied.
func (t *Translator) Tables() map[tableKey]ordered.Set[*entry] {
	tables := map[tableKey]ordered.Set[*entry]{}
	for host := range t.inner().last.hosts.All() {
		tables[host.Key] = host.Table
	}
	return tables
}

// Encodings returns the size of each route's encoding in the tables of all hosts, by where
// it lies, so that a test can see how many bytes an edit has encoded. What it returns
// says something as long as the Translator is kept.
func (t *Translator) Encodings() map[*byte]int {
	sizes := map[*byte]int{}
	for host := range t.inner().last.hosts.All() {
		for e := range host.Table.All() {
			sizes[&e.Encoded[0]] = len(e.Encoded)
		}
	}
	return sizes
}

// HostParts returns the sizes of the encoded parts of all virtual hosts, by where they lie: a
// host that is a list is one part, a compiled one has its frame and its leaves. What it returns
// says something as long as the View of that time is kept.
func (t *Translator) HostParts() map[*byte]int {
	sizes := map[*byte]int{}
	for host := range t.inner().last.hosts.All() {
		for part := range host.Encoded.Parts() {
			sizes[&part[0]] = len(part)
		}
	}
	return sizes
}
