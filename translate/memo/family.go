package memo

import (
	"fmt"
	"slices"
)

// Family describes one rule or fold of an Engine: its name, and the names of the inputs, rules and folds that it
// depends on.
type Family struct {
	Name string
	// Sources are the families whose values are the members of a fold. It is nil for a rule.
	Sources []string
	// Reads are the families that the present values of a rule were computed from. It is nil for a fold.
	Reads []string
}

// Families returns the rules and folds in the order of their declaration. It visits every value. So only code
// that documents or checks the dependencies should call it.
func (e *Engine) Families() []Family {
	var out []Family
	for _, f := range e.families {
		out = append(out, f.describe())
	}
	return out
}

// Cells returns how many cells each family has, by the names of the family or its sources, and how many keys there are
// of each type. Whatever has none is left out. It visits every cell. So only code that looks for leaks should call it.
func (e *Engine) Cells() map[string]int {
	count := map[string]int{}
	for _, keys := range e.keys {
		keys.(interface{ count(into map[string]int) }).count(count)
	}
	return count
}

// count adds the number of rows to into, and the number of cells of each family.
func (k *keys[K]) count(into map[string]int) {
	k.each(func(r *row[K]) {
		into[fmt.Sprintf("keys %T", r.key)]++
		for n := r.first; n != nil; n = n.next {
			into[fmt.Sprintf("%T %s", n.cell, n.cell.of().(named).names())]++
		}
	})
}

// label is the name of a family, and the names of the families from which it gets its values. An Input and a Rule
// have no sources. An Index and a Join have no name. Instead, they are known by the names of their sources.
type label struct {
	name    string
	sources []string
}

// names returns the name as a list of one, or the sources if there is no name.
func (l *label) names() []string {
	if l.name == "" {
		return l.sources
	}
	return []string{l.name}
}

// describe implements family.
func (f *Fold[K, ID, M, V]) describe() Family {
	return Family{Name: f.name, Sources: unique(f.sources)}
}

// describe implements family.
func (r *Rule[K, V]) describe() Family {
	var reads []string
	r.cells.each(func(c *ruleCell[K, V]) {
		for _, n := range c.reads {
			reads = append(reads, n.cell.of().(named).names()...)
		}
	})
	return Family{Name: r.name, Reads: unique(reads)}
}

// unique returns the names sorted and without duplicates.
func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// named is implemented by all families, and by Index and Join. The lists Family.Sources and Family.Reads of other
// families contain what names() returns: the name of a family, or the names of the sources of an Index or Join.
type named interface{ names() []string }
