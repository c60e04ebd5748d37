package plan

import (
	"cmp"
	"slices"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// Effect is what a Change does to its Example, in one word.
type Effect string

// The effects, the most important first. If several effects apply to a Change, it has the first of these.
const (
	// Opens: a policy rejected the request before, and a backend gets it after.
	Opens Effect = "opens"
	// LosesPolicy: a policy field no longer applies. Change.Lost names the field. The Example may get the same
	// answer.
	LosesPolicy Effect = "loses-policy"
	// Fails: Envoy forwarded or redirected the request before, and does neither after.
	Fails Effect = "fails"
	// OtherRule: another rule matches the request.
	OtherRule Effect = "other-rule"
	// OtherBackends: other backends get the request.
	OtherBackends Effect = "other-backends"
	// OtherShares: the same backends get the requests in other proportions.
	OtherShares Effect = "other-shares"
	// Differs: the answer, the request to the backend, or its handling differs in another way.
	Differs Effect = "differs"
)

// allEffects returns all effects, the most important first.
func allEffects() []Effect {
	return []Effect{Opens, LosesPolicy, Fails, OtherRule, OtherBackends, OtherShares, Differs}
}

// effect returns the effect of a change: the first of allEffects that applies.
func (c *Change) effect() Effect {
	passed := func(a Answer) bool { return a.Outcome == explain.Forwarded || a.Outcome == explain.Redirected }
	region := c.Regions[0]
	switch {
	case c.Before.policed && !passed(c.Before) && c.After.Outcome == explain.Forwarded:
		return Opens
	case len(c.Lost) > 0:
		return LosesPolicy
	case passed(c.Before) && !passed(c.After):
		return Fails
	case region.otherRule:
		return OtherRule
	case c.Before.Outcome == explain.Forwarded && c.After.Outcome == explain.Forwarded:
		if !slices.Equal(clustersOf(c.Before), clustersOf(c.After)) {
			return OtherBackends
		}
		if !slices.EqualFunc(c.Before.Backends, c.After.Backends, func(x, y Share) bool { return x.Cluster == y.Cluster && x.Percent == y.Percent }) {
			return OtherShares
		}
	}
	return Differs
}

// sameRule reports whether the two rules of a pair are the same rule of one route, which may have been edited or
// moved. Two rules with equal names are the same. Otherwise a rule is recognized on the other side by its match.
// If neither rule of the pair has its match on the other side, the rules are the same if they have the same index.
func (h *hostPair) sameRule(p pair) bool {
	a, b := ruleOf(p.before), ruleOf(p.after)
	if a.Object != b.Object {
		return false
	}
	if a.RuleName != "" && a.RuleName == b.RuleName {
		return true
	}
	if now := ruleOf(h.counterpart(1, p.before)); now != nil && now.Object == a.Object {
		return now.Rule == b.Rule
	}
	if old := ruleOf(h.counterpart(0, p.after)); old != nil && old.Object == b.Object {
		return old.Rule == a.Rule
	}
	return a.Rule == b.Rule
}

// clustersOf returns the clusters of an answer, sorted, each once. "" is in the list if a share goes to no
// backend.
func clustersOf(a Answer) (out []string) {
	for _, b := range a.Backends {
		out = append(out, b.Cluster)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rank sets the Effect of each change, and sorts the list by it, the most important first.
func rank(list []*Change) {
	for _, c := range list {
		c.Effect = c.effect()
	}
	order := allEffects()
	slices.SortStableFunc(list, func(a, b *Change) int {
		return cmp.Compare(slices.Index(order, a.Effect), slices.Index(order, b.Effect))
	})
}

// lostFields returns the policy fields that no longer apply to the requests of a pair. It returns nil if one of the
// rules is nil.
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
