package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// changeGroups collects changes. Changes that have the same answers, reasons and lost fields become one Change:
// their lists of regions (see Region) are joined.
type changeGroups struct {
	known map[string]*Change
	list  []*Change
}

func newChangeGroups() *changeGroups { return &changeGroups{known: map[string]*Change{}} }

// add adds the regions of a change to an earlier change with the same answers, reasons and lost fields. If
// there is no such change, it appends the new one.
func (g *changeGroups) add(one *Change) {
	key := fmt.Sprintf("%q %q %v", one.Before.Words(), one.After.Words(), append(reasonKeys(one.Reasons), fmt.Sprint(one.Lost), fmt.Sprint(one.Held)))
	if known := g.known[key]; known != nil {
		known.Regions = append(known.Regions, one.Regions...)
		return
	}
	g.known[key] = one
	g.list = append(g.list, one)
}

// ranked returns the changes with their effects, the most important effect first.
func (g *changeGroups) ranked() (out []Change) {
	for _, one := range g.list {
		one.Effect = one.effect()
		out = append(out, *one)
	}
	order := allEffects()
	slices.SortStableFunc(out, func(a, b Change) int {
		return cmp.Compare(slices.Index(order, a.Effect), slices.Index(order, b.Effect))
	})
	return out
}

// reasonKeys returns a text for each reason, from its text and its first object.
func reasonKeys(reasons []Reason) (out []string) {
	for _, r := range reasons {
		text := r.Text
		if len(r.At) > 0 {
			text += " " + r.At[0].Object.String()
		}
		out = append(out, text)
	}
	return out
}
