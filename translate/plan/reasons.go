package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// words describes the requests that meet a pair, as text. Such a request fits the matches of both rules of the pair.
// So if one match is narrower than the other, the text is only the narrower match. If neither is narrower, the text
// has both matches. If the pair has only one rule, the text is the match of that rule.
func (p pair) words() string {
	switch {
	case p.before == nil:
		return explain.RuleWords(p.after.rule)
	case p.after == nil:
		return explain.RuleWords(p.before.rule)
	}
	a, b := &p.before.rule.Match, &p.after.rule.Match
	first, second := explain.RuleWords(p.before.rule), explain.RuleWords(p.after.rule)
	switch {
	case narrower(a, b):
		return first
	case narrower(b, a):
		return second
	}
	return first + ", and also " + second
}

// narrower reports whether b certainly matches every request that a matches. A false result may also mean that
// this is not known.
func narrower(a, b *ir.Match) bool {
	inPath := a.Path == b.Path && a.Within == b.Within
	if b.Path.Kind == ir.PathPrefix && b.Within == "" && a.Path.Kind != ir.PathRegex {
		inPath = scope.CoversPath(b.Path.Value, a.Path.Value)
	}
	if b.Path.Kind == ir.PathPrefix && b.Within == "" && segments(b.Path.Value) == "" {
		inPath = true
	}
	has := func(list []ir.ValueMatch, all []ir.ValueMatch) bool {
		return !slices.ContainsFunc(all, func(one ir.ValueMatch) bool { return !slices.Contains(list, one) })
	}
	return inPath && (b.Method == "" || a.Method == b.Method) && has(a.Headers, b.Headers) && has(a.Query, b.Query)
}

// reasons returns why the rules of a pair differ. If both rules have the same route and match, it returns the
// differences of their actions. Otherwise it returns why another rule matches, and which policies do not apply
// any more.
func (h *hostPair) reasons(p pair) []Reason {
	if p.before == nil || p.after == nil {
		return []Reason{h.takeovers().reason(p)}
	}
	if p.before.match == p.after.match && p.before.rule.Source.Key == p.after.rule.Source.Key {
		return h.port.comparison.actions.reasons(p)
	}
	return append([]Reason{h.takeovers().reason(p)}, lostReasons(p)...)
}

// ruleOf returns the Rule of an entry, or nil if e is nil. If routes delegate to each other to reach this rule, the
// result is the rule of the last route, not one of the delegating rules.
func ruleOf(e *entry) *Rule {
	if e == nil {
		return nil
	}
	hops := explain.HopsOf(e.rule)
	last := hops[len(hops)-1]
	return &Rule{Object: last.Object, Rule: last.Rule, RuleName: last.RuleName, Match: last.Match, At: last.MatchAt, envoy: e.rule.Name}
}

// placeOfRule returns the place of the match that an entry's rule is made from. The parameter before says whether
// this place is in the old configuration (Place.Before).
func placeOfRule(e *entry, before bool) Place {
	rule := ruleOf(e)
	return Place{Source: rule.At, Before: before}
}

// currentFirst returns only the places in the new configuration (Place.Before is false), without duplicates. If
// there are none, it returns all the given places.
func currentFirst(places []Place) []Place {
	var now []Place
	for _, at := range places {
		if !at.Before && !slices.Contains(now, at) {
			now = append(now, at)
		}
	}
	if len(now) > 0 {
		return now
	}
	return places
}

// change describes, in words, how a setting changes from the text before to the text after. The text "" means that
// the setting is not set. Both texts can be equal, because they do not show every part of a setting. The result is
// then the text and "(changed)", or only "changed" if the text is "".
func change(before, after string) string {
	switch {
	case before == "" && after == "":
		return "changed"
	case before == after:
		return after + " (changed)"
	case before == "":
		return "added: " + after
	case after == "":
		return "removed; before: " + before
	}
	return after + "; before: " + before
}

// partWords returns, in words, what a policy field, filter or setting does in an action. kind says which one
// (see ir.Part.Kind). It returns "" if the action does not have it, and "set" if there is no text for the kind.
// For rbac it adds at most maxListed expressions.
func partWords(kind string, a *ir.Action) string {
	for _, part := range a.Parts {
		if part.Kind == kind {
			words := cmp.Or(explain.ActionWords(part, a), "set")
			if rbac := a.Extras.OrNone().RBAC; rbac != nil && kind == ir.FieldRBAC.PartKind() && len(rbac.Expressions) > 0 {
				words += " (" + oneLine(strings.Join(rbac.Expressions[:min(len(rbac.Expressions), maxListed)], "; ")) + ")"
			}
			return words
		}
	}
	return ""
}

// partPlaces returns where a policy field, filter or setting of an action is written. kind says which one (see
// ir.Part.Kind). The parameter before is true if the action is from the old configuration.
func partPlaces(kind string, a *ir.Action, before bool) (out []Place) {
	for _, part := range a.Parts {
		if part.Kind == kind {
			out = append(out, Place{Source: explain.Source{Object: part.Object, Field: part.Field}, Before: before})
		}
	}
	return out
}

// objectsOf returns the objects of places, each once.
func objectsOf(places []Place) (out []manifest.Key) {
	for _, at := range places {
		if !slices.Contains(out, at.Object) {
			out = append(out, at.Object)
		}
	}
	return out
}

// orNone returns the elements of a list as one text. It returns "none" for an empty list.
func orNone(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }
