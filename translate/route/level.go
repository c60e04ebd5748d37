package route

import (
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// Level has the filters, timeouts and retry of one delegating rule. All rules of child routes below the delegating
// rule inherit these settings.
type Level struct {
	// Action has the settings, without backends. The pointer is shared: each Point of the delegating rule, and of
	// each delegating rule below, has a Level with the same Action.
	Action *ir.Action
	// Priority says which values win over those of the rules below: those of this Level, or none (EP-10943, the
	// annotation inherited-policy-priority).
	Priority policy.Strategy
	// Closed is true if a filter of the delegating rule cannot be applied. Then every rule below answers 500.
	Closed bool
}

// prefers reports whether the values of this Level win over those of the rules below, for one kind of setting (see
// part.field).
func (l Level) prefers(p *part) bool { return l.Priority.Prefers(p.field) }

// underLevels adds to a rule's action the settings that the rule inherits from the delegating rules above it
// (docs/design/kgateway.md#native-fields-and-filters-of-a-parent-rule). The parameter levels has one Level for each
// delegating rule, from the root's rule down. underLevels merges them in the opposite order: the nearest Level
// first.
//
// If a Level and the rule below both set a field, the Level wins if its Priority prefers the parent, and the lower rule
// wins otherwise. Header changes of both are kept, and those of the winner run last. Mirrors of both are kept.
// If a Level is Closed, the result is an action that answers 500.
func underLevels(action ir.Action, levels []Level) ir.Action {
	for _, level := range slices.Backward(levels) {
		if level.Closed {
			return ir.Action{Respond: &ir.Respond{Status: 500}}
		}
		below, above := action, *level.Action
		for _, p := range parts() {
			if p.inherit != nil {
				p.inherit(&action, newMerge(&below, &above, level.prefers(&p)))
			}
		}
		action.Parts = inForce(&action, func(p *part) merge { return newMerge(&below, &above, level.prefers(p)) })
	}
	return action
}

// newMerge returns the merge of two actions. The parameter above is preferred if prefers is true.
func newMerge(below, above *ir.Action, prefers bool) merge {
	if prefers {
		return merge{below, above, above, below}
	}
	return merge{below, above, below, above}
}

// inForce returns the list ir.Action.Parts (the sources of the settings) for a merged action. For each kind of setting,
// the list has all sources of the preferred action (merge.first), and those sources of the other action whose settings
// are effective after the merge. The parameter of returns the merge for a kind of setting.
func inForce(merged *ir.Action, of func(*part) merge) []ir.Part {
	var out []ir.Part
	whole := of(&part{})
	for _, from := range []*ir.Action{whole.first, whole.second} {
		for _, one := range from.Parts {
			row := partOf(one.Kind)
			if m := of(&row); m.first == from || row.shows == nil || row.shows(merged, m) {
				out = append(out, one)
			}
		}
	}
	return out
}
