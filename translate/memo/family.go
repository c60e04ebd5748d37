package memo

import "slices"

// Family is a rule or a fold with its name and the families that it depends on.
type Family struct {
	Name string
	// Sources are the families whose values are the members of a fold; none for a rule.
	Sources []string
	// Reads are the families that the present values of a rule were computed from; none for a
	// fold.
	Reads []string
}

// Families returns the rules and folds in the order of their declaration. It visits every
// value: only code that documents or checks the dependencies calls it, never a translation.
func (e *Engine) Families() []Family {
	var out []Family
	for _, f := range e.families {
		out = append(out, f.describe())
	}
	return out
}

// label is the name of a family, and the names of those that its values are made of. An Index
// and a Join have no name: they stand for their sources.
type label struct {
	name    string
	sources []string
}

func (l *label) names() []string {
	if l.name == "" {
		return l.sources
	}
	return []string{l.name}
}

func (f *Fold[K, ID, M, V]) describe() Family {
	return Family{Name: f.name, Sources: unique(f.sources)}
}

func (r *Rule[K, V]) describe() Family {
	var reads []string
	r.cells.each(func(c *ruleCell[K, V]) {
		for _, n := range c.reads {
			reads = append(reads, n.cell.of().(named).names()...)
		}
	})
	return Family{Name: r.name, Reads: unique(reads)}
}

// unique returns the names sorted, each once.
func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// named is every family.
type named interface{ names() []string }
