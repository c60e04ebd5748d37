package route

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// Level has the filters, timeouts and retry of one delegating rule. All rules of child routes below the delegating
// rule inherit these settings.
type Level struct {
	// Action has the settings, without backends. The pointer is shared: each Point of the delegating rule, and of
	// each delegating rule below, has a Level with the same Action.
	Action *ir.Action
	// PreferParent is true if the values of this Level win over those of the rules below (EP-10943, the annotation
	// inherited-policy-priority).
	PreferParent bool
	// Closed is true if a filter of the delegating rule cannot be applied. Then every rule below answers 500.
	Closed bool
}

// prefersParent reports whether a route's annotation inherited-policy-priority says that the route's values win
// over those of its child routes.
func prefersParent(object *manifest.Object) bool {
	strategy, _ := policy.StrategyOf(object.Value.GetAnnotations())
	return strategy.PrefersParent()
}

// underLevels adds to a rule's action the settings that the rule inherits from the delegating rules above it
// (docs/design/kgateway.md#native-fields-and-filters-of-a-parent-rule). The parameter levels has one Level for each
// delegating rule, from the root's rule down. underLevels merges them in the opposite order: the nearest Level
// first.
//
// If a Level and the rule below both set a field, the Level wins if its PreferParent is true, and the lower rule
// wins if it is false. Header changes of both are kept, and those of the winner run last. Mirrors of both are kept.
// If a Level is Closed, the result is an action that answers 500.
func underLevels(action ir.Action, levels []Level) ir.Action {
	for _, level := range slices.Backward(levels) {
		if level.Closed {
			return ir.Action{Respond: &ir.Respond{Status: 500}}
		}
		below, above := action, *level.Action
		m := merge{&below, &above, &below, &above}
		if level.PreferParent {
			m.first, m.second = m.second, m.first
		}
		for _, p := range parts() {
			if p.inherit != nil {
				p.inherit(&action, m)
			}
		}
		action.Parts = inForce(&action, m)
	}
	return action
}

// inForce returns the list ir.Action.Parts (the sources of the settings) for a merged action. The list has all
// sources of the preferred action (m.first), and those sources of the other action (m.second) whose settings are
// effective after the merge.
func inForce(merged *ir.Action, m merge) []ir.Part {
	out := slices.Clone(m.first.Parts)
	for _, p := range m.second.Parts {
		if row, known := partOf(p.Kind); !known || row.shows == nil || row.shows(merged, m) {
			out = append(out, p)
		}
	}
	return out
}
