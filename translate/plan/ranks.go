package plan

import (
	"cmp"
	"slices"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// Effect is the effect of a Change on its Example, in one word.
type Effect string

// The effects, the one to look at first in front: a Change has the first that it is.
const (
	// Opens: Envoy rejected the request before, and a backend gets it.
	Opens Effect = "opens"
	// LosesPolicy: a field of policies no longer holds, which Change.Lost names. The Example may get the same
	// answer.
	LosesPolicy Effect = "loses-policy"
	// Fails: a backend got the request before, and Envoy answers with an error or closes the connection.
	Fails Effect = "fails"
	// OtherRule: another rule takes the request.
	OtherRule Effect = "other-rule"
	// OtherBackends: other backends get the request.
	OtherBackends Effect = "other-backends"
	// OtherShares: the same backends share the requests otherwise.
	OtherShares Effect = "other-shares"
	// Differs: something else of the answer, of what the backend receives or of how it is handled differs.
	Differs Effect = "differs"
)

// allEffects returns all effects, in order.
func allEffects() []Effect {
	return []Effect{Opens, LosesPolicy, Fails, OtherRule, OtherBackends, OtherShares, Differs}
}

// effect returns the effect of a change.
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
	case region.Before != nil && region.After != nil && !sameRule(region.Before, region.After):
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

// sameRule reports whether two rules have the same object and match. A rule that moved within its
// object is the same.
func sameRule(a, b *Rule) bool {
	return a.Object == b.Object && (a.envoy == b.envoy || a.RuleName == b.RuleName)
}

// clustersOf returns the backends of an answer, sorted. "" stands for the share that no backend
// gets.
func clustersOf(a Answer) (out []string) {
	for _, b := range a.Backends {
		out = append(out, b.Cluster)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rank sets the effects of changes, and sorts the most important first.
func rank(list []*Change) {
	for _, c := range list {
		c.Effect = c.effect()
	}
	order := allEffects()
	slices.SortStableFunc(list, func(a, b *Change) int {
		return cmp.Compare(slices.Index(order, a.Effect), slices.Index(order, b.Effect))
	})
}

// lost returns the policy fields that do not apply to the requests of a pair any more.
func (p pair) lost() (fields []ir.Field) {
	if p.before == nil || p.after == nil {
		return nil
	}
	for _, kind := range lostKinds(&p.before.rule.Action, &p.after.rule.Action) {
		field, _ := (ir.Part{Kind: kind}).PolicyField()
		fields = append(fields, field)
	}
	return fields
}
