package plan

import (
	"fmt"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// lostFields returns the policy fields that no longer apply to the requests of a pair. It returns nil if p.before or
// p.after is nil, or if the action of p.after is a Respond (see lostKinds).
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

// lostReasons returns a Reason for each policy field that applied to the requests of a pair in the old configuration,
// and does not apply in the new one. It returns nil if the action of p.after is a Respond. p.before and p.after must
// not be nil.
func lostReasons(p pair) (out []Reason) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	for _, kind := range lostKinds(a, b) {
		field, _ := (ir.Part{Kind: kind}).PolicyField()
		had, places := partWords(kind, a), partPlaces(kind, a, true)
		out = append(out, Reason{fmt.Sprintf("%s no longer holds for these requests: %s has none; before: %s", field, ruleOf(p.after).Words(), had), places})
	}
	return out
}

// lostKinds returns the kinds of the policy fields that are effective in oldAction, but not in newAction. It returns
// nil if newAction is a Respond.
func lostKinds(oldAction, newAction *ir.Action) (kinds []string) {
	if newAction.Respond != nil {
		return nil
	}
	for _, part := range oldAction.PartValues() {
		if _, isPolicy := (ir.Part{Kind: part.Kind}).PolicyField(); isPolicy && inForce(part.Kind, oldAction) && !inForce(part.Kind, newAction) {
			kinds = append(kinds, part.Kind)
		}
	}
	return kinds
}

// inForce reports whether an action has a policy field, filter or setting that is not turned off. The parameter kind
// says which policy field, filter or setting (see ir.Part.Kind).
func inForce(kind string, a *ir.Action) bool {
	words := partWords(kind, a)
	return words != "" && words != explain.TurnedOff
}
