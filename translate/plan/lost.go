package plan

import (
	"fmt"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// lostFields returns the policy fields that no longer apply to the requests of a pair. It returns nil if one of
// the rules is nil, or if the action of the rule after is a Respond (see lostKinds).
func (p pair) lostFields() (fields []ir.Field) {
	if p.before == nil || p.after == nil {
		return nil
	}
	for _, kind := range lostKinds(&p.before.rule.Action, &p.after.rule.Action) {
		field, _ := (ir.Part{Kind: kind}).PolicyField()
		fields = append(fields, field)
	}
	return fields
}

// lostReasons returns a Reason for each policy field that applied to the requests of a pair before, and does
// not apply after. It returns nil if the action of the rule after is a Respond. Both rules of the pair must exist.
func lostReasons(p pair) (out []Reason) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	for _, kind := range lostKinds(a, b) {
		field, _ := (ir.Part{Kind: kind}).PolicyField()
		had, places := partWords(kind, a), partPlaces(kind, a, true)
		out = append(out, Reason{fmt.Sprintf("%s no longer holds for these requests: %s has none; before: %s", field, ruleOf(p.after).Words(), had), places})
	}
	return out
}

// lostKinds returns the kinds of policy fields that are effective in the action before and not in the action after.
// It returns nil if the action after is a Respond.
func lostKinds(before, after *ir.Action) (kinds []string) {
	if after.Respond != nil {
		return nil
	}
	for _, part := range before.PartValues() {
		if _, isPolicy := (ir.Part{Kind: part.Kind}).PolicyField(); isPolicy && inForce(part.Kind, before) && !inForce(part.Kind, after) {
			kinds = append(kinds, part.Kind)
		}
	}
	return kinds
}

// inForce reports whether an action has an effective part of a kind: one that exists and is not turned off.
func inForce(kind string, a *ir.Action) bool {
	words := partWords(kind, a)
	return words != "" && words != explain.TurnedOff
}
