package route

import (
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// Level has the filters, timeouts and retry of one delegating rule, which apply to all rules below it.
type Level struct {
	Action *ir.Action // without backends; all Points below share the Action
	// PreferParent is true if this level's values win over those below (EP-10943, the annotation
	// inherited-policy-priority).
	PreferParent bool
	// Closed is true if the rule cannot be served as written. Then every rule below it answers 500.
	Closed bool
}

// prefersParent reports whether the annotation inherited-policy-priority of a route prefers the parent's
// values.
func prefersParent(object *manifest.Object) bool {
	strategy, _ := policy.StrategyOf(object.Value.GetAnnotations())
	return strategy.PrefersParent()
}

// underLevels merges a rule's action with the actions of the delegating rules above it, from the nearest to the
// root (docs/design/kgateway.md#native-fields-and-filters-of-a-parent-rule). levels begins with the root's. In
// each merge, the level is preferred if its PreferParent is true, and otherwise the action below. If both set a
// field, the preferred one wins. Its header changes run last. Mirrors of both are kept. If a level is Closed,
// the result answers 500.
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

// inForce returns ir.Action.Parts for a merged action: the Parts of the preferred action (m.first), and those
// Parts of the other one that are effective in the merged action.
func inForce(merged *ir.Action, m merge) []ir.Part {
	out := slices.Clone(m.first.Parts)
	for _, p := range m.second.Parts {
		if row, known := partOf(p.Kind); !known || row.shows == nil || row.shows(merged, m) {
			out = append(out, p)
		}
	}
	return out
}
