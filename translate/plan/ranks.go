package plan

import (
	"slices"

	"github.com/gatefold/gatefold/translate/explain"
)

// Effect is what a Change does to its Example, in one word.
type Effect string

// The effects, the most important first. If several effects apply to a Change, it has the first of these.
const (
	// Opens: before the change, a policy answered the request itself, for example with 403. After the change, a
	// backend gets the request.
	Opens Effect = "opens"
	// LosesPolicy: a policy field no longer applies. Change.Lost names the field. The Example may get the same
	// answer.
	LosesPolicy Effect = "loses-policy"
	// Fails: before the change, Envoy forwarded or redirected the request. After the change, it does neither,
	// for another reason than a login.
	Fails Effect = "fails"
	// AsksLogin: before the change, Envoy forwarded or redirected the request. After the change, a policy asks for a
	// password, a key, a token or a sign-in.
	AsksLogin Effect = "asks-login"
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
	return []Effect{Opens, LosesPolicy, Fails, AsksLogin, OtherRule, OtherBackends, OtherShares, Differs}
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
	case passed(c.Before) && c.After.login:
		return AsksLogin
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

// clustersOf returns the clusters of an answer, sorted, each once. "" is in the list if a share goes to no
// backend.
func clustersOf(a Answer) (out []string) {
	for _, b := range a.Backends {
		out = append(out, b.Cluster)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
