package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// policyCounts counts the rules that gain, lose or change a policy field.
type policyCounts struct {
	effects  effectPair
	compared map[[2]*ir.Rule]bool // the pairs of rules with the same match that were compared
	changes  map[string]*PolicyChange
}

func newPolicyCounts(effects effectPair) *policyCounts {
	return &policyCounts{effects: effects, compared: map[[2]*ir.Rule]bool{}, changes: map[string]*PolicyChange{}}
}

// list returns the counted changes, sorted by kind, field and values.
func (c *policyCounts) list() (out []PolicyChange) {
	for _, key := range slices.Sorted(maps.Keys(c.changes)) {
		out = append(out, *c.changes[key])
	}
	return out
}

// add counts the policy fields that differ between the old and the new rule of a pair. If the two rules have
// different matches, it counts only the fields that the old rule has and the new rule lacks. If the old or the new
// rule is nil, it counts nothing.
func (c *policyCounts) add(p pair) {
	switch {
	case p.before == nil || p.after == nil:
	case p.before.match == p.after.match:
		c.addFields(p)
	default:
		c.addLost(p)
	}
}

// addLost counts the policy fields that are effective in the old rule of the pair (p.before) and not in the new rule
// (p.after). See lostKinds.
func (c *policyCounts) addLost(p pair) {
	a := &p.before.rule.Action
	for _, kind := range lostKinds(a, &p.after.rule.Action) {
		field, _ := (ir.Part{Kind: kind}).PolicyField()
		c.count(PolicyChange{Kind: Removed, Field: string(field), Before: partWords(kind, a), Policies: objectsOf(partPlaces(kind, a, true))}, p.before.rule)
	}
}

// addFields counts the policy fields that a rule gains, loses or changes. It counts each pair of rules
// once. If an object makes one of the two rules fail closed, but not the other one, addClosed counts instead.
func (c *policyCounts) addFields(p pair) {
	if c.compared[[2]*ir.Rule{p.before.rule, p.after.rule}] {
		return
	}
	c.compared[[2]*ir.Rule{p.before.rule, p.after.rule}] = true
	a, b := &p.before.rule.Action, &p.after.rule.Action
	if a.ClosedBy() != b.ClosedBy() {
		c.addClosed(p)
		return
	}
	before, after := a.PartValues(), b.PartValues()
	for i := range before {
		kind := before[i].Kind
		field, isPolicy := (ir.Part{Kind: kind}).PolicyField()
		if !isPolicy || c.effects.same(before[i].Value, after[i].Value) {
			continue
		}
		one := PolicyChange{Kind: Changed, Field: string(field), Before: partWords(kind, a), After: partWords(kind, b)}
		if detail := details(kind, a, b); detail != "" {
			one.After += "; " + detail
		}
		one.Policies = objectsOf(currentFirst(append(partPlaces(kind, b, false), partPlaces(kind, a, true)...)))
		switch {
		case one.Before == "" || one.Before == explain.TurnedOff:
			one.Kind = Added
		case one.After == "" || one.After == explain.TurnedOff:
			one.Kind = Removed
		}
		rule := p.after.rule
		if one.Kind == Removed {
			rule = p.before.rule
		}
		c.count(one, rule)
	}
}

// addClosed is for a pair whose new rule (p.after) fails closed because of an object, such as an invalid policy (see
// ir.Action.ClosedBy). It counts the policy fields that were effective in the old rule (p.before) and came from the
// same object. It counts nothing if no object makes the new rule fail closed.
func (c *policyCounts) addClosed(p pair) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	if b.ClosedBy() == "" {
		return // the rule answers normally again, so nothing is lost
	}
	for _, part := range a.PartValues() {
		field, isPolicy := (ir.Part{Kind: part.Kind}).PolicyField()
		policies := objectsOf(partPlaces(part.Kind, a, true))
		if isPolicy && inForce(part.Kind, a) && slices.Contains(policies, b.Parts[0].Object) {
			c.count(PolicyChange{Kind: Closed, Field: string(field), Before: partWords(part.Kind, a), After: b.Respond.Why, Policies: policies}, p.after.rule)
		}
	}
}

// count counts a rule as affected by a change of a policy field, in the entry of c.changes for the parameter
// policyChange (see countRule). In such an entry, the same rule is counted only once, even if it has several
// matches or listeners.
func (c *policyCounts) count(policyChange PolicyChange, rule *ir.Rule) {
	c.countRule(policyChange, rule.Source.Key, fmt.Sprint(rule.Position[:len(rule.Position)-1]))
}

// countRule counts a rule of a route as affected by a change of a policy field. It looks in c.changes for a
// PolicyChange with the same kind, field, values and policies as the parameter policyChange, and adds policyChange
// if there is none. It counts the rule there, but the same rule only once. The parameter rule is any text that
// identifies the rule in the route.
func (c *policyCounts) countRule(policyChange PolicyChange, route manifest.Key, rule string) {
	key := fmt.Sprintf("%q %q %q %q %q", policyChange.Kind, policyChange.Field, policyChange.Before, policyChange.After, policyChange.Policies)
	known := c.changes[key]
	if known == nil {
		known = &policyChange
		known.rules = map[string]bool{}
		c.changes[key] = known
	}
	known.rules[fmt.Sprint(route, rule)] = true
	known.Rules = len(known.rules)
	if i, is := slices.BinarySearchFunc(known.Routes, route, manifest.CompareKeys); !is {
		known.Routes = slices.Insert(known.Routes, i, route)
	}
}
