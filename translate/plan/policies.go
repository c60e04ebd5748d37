package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// losses returns the policy fields that applied to the requests of a pair before, and do not apply after. It
// returns nil if the rule after answers without a backend. It also counts the lost fields, unless both rules
// have the same match: countPolicies then counts them.
func (h *hostPair) losses(p pair) (out []Reason) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	for _, kind := range lostKinds(a, b) {
		field, _ := (ir.Part{Kind: kind}).PolicyField()
		had, places := partWords(kind, a), partPlaces(kind, a, true)
		out = append(out, Reason{fmt.Sprintf("%s no longer holds for these requests: %s has none; before: %s", field, ruleOf(p.after).Words(), had), places})
		if p.before.match != p.after.match { // countPolicies counts the fields of rules with the same match
			h.count(PolicyChange{Kind: Removed, Field: string(field), Before: had, Policies: objectsOf(places)}, p.before.rule)
		}
	}
	return out
}

// lostKinds returns the kinds of policy fields that are effective in before and not in after. It returns nil if
// after answers without a backend (Respond).
func lostKinds(before, after *ir.Action) (kinds []string) {
	if after.Respond != nil {
		return nil
	}
	for _, part := range components(before) {
		if _, isPolicy := (ir.Part{Kind: part.kind}).PolicyField(); isPolicy && inForce(part.kind, before) && !inForce(part.kind, after) {
			kinds = append(kinds, part.kind)
		}
	}
	return kinds
}

// inForce reports whether an action has an effective part of a kind: one that exists and is not turned off.
func inForce(kind string, a *ir.Action) bool {
	words := partWords(kind, a)
	return words != "" && words != explain.TurnedOff
}

// countPolicies counts the policy fields that a rule gains, loses or changes. It counts each pair of rules
// once. If an invalid policy makes only one of the two rules answer 500, countClosed counts instead.
func (h *hostPair) countPolicies(p pair) {
	if h.counted[[2]*ir.Rule{p.before.rule, p.after.rule}] {
		return
	}
	h.counted[[2]*ir.Rule{p.before.rule, p.after.rule}] = true
	a, b := &p.before.rule.Action, &p.after.rule.Action
	if a.ClosedBy() != b.ClosedBy() {
		h.countClosed(p)
		return
	}
	before, after := components(a), components(b)
	for i := range before {
		kind := before[i].kind
		field, isPolicy := (ir.Part{Kind: kind}).PolicyField()
		if !isPolicy || h.effects[0].of(before[i].value) == h.effects[1].of(after[i].value) {
			continue
		}
		one := PolicyChange{Kind: Changed, Field: string(field), Before: partWords(kind, a), After: partWords(kind, b)}
		if detail := h.details(kind, a, b); detail != "" {
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
		h.count(one, rule)
	}
}

// countClosed counts the fields that the rule before had from the policy that makes the rule after answer 500.
// It counts nothing if the rule after does not answer 500 because of a policy.
func (h *hostPair) countClosed(p pair) {
	a, b := &p.before.rule.Action, &p.after.rule.Action
	if b.ClosedBy() == "" {
		return // the rule answers normally again, so nothing is lost
	}
	for _, part := range components(a) {
		field, isPolicy := (ir.Part{Kind: part.kind}).PolicyField()
		policies := objectsOf(partPlaces(part.kind, a, true))
		if isPolicy && inForce(part.kind, a) && slices.Contains(policies, b.Parts[0].Object) {
			h.count(PolicyChange{Kind: Closed, Field: string(field), Before: partWords(part.kind, a), After: b.Respond.Why, Policies: policies}, p.after.rule)
		}
	}
}

// count counts a rule for a change of a policy field. A rule counts once, independent of its matches and
// listeners.
func (h *hostPair) count(one PolicyChange, rule *ir.Rule) {
	h.countRule(one, rule.Source.Key, fmt.Sprint(rule.Position[:len(rule.Position)-1]))
}

// details returns differences of a policy field that partWords may leave out: addresses, expressions and the
// fields of CORS. It returns "" if there are none, or if one side does not have the field.
func (h *hostPair) details(kind string, before, after *ir.Action) string {
	x, y := before.Extras.OrNone(), after.Extras.OrNone()
	cors := func(a, b *ir.CORS) string {
		if a == nil || b == nil {
			return ""
		}
		return strings.Join(corsDetails(a, b), "; ")
	}
	switch kind {
	case ir.FieldACL.PartKind():
		if x.ACL != nil && y.ACL != nil {
			return listDetails("ranges", aclLines(x.ACL), aclLines(y.ACL))
		}
	case ir.FieldRBAC.PartKind():
		if a, b := x.RBAC, y.RBAC; a != nil && b != nil {
			return joined(
				listDetails("expressions", a.Expressions, b.Expressions), listDetails("allowed ranges", a.Allowed, b.Allowed),
				listDetails("blocked ranges", a.Blocked, b.Blocked),
			)
		}
	case ir.FieldCORS.PartKind():
		return cors(x.CORS, y.CORS)
	case corsFilter:
		return cors(before.CORS, after.CORS)
	}
	return ""
}

// joined returns the texts that are not empty, separated by "; ".
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// aclLines returns each range of an ACL with its decision, "allow" or "deny".
func aclLines(acl *ir.ACL) (out []string) {
	for i := range acl.Rules {
		verb := map[bool]string{true: "allow ", false: "deny "}[acl.Rules[i].Allow]
		for _, text := range acl.Rules[i].Ranges {
			out = append(out, verb+text)
		}
	}
	return out
}

// maxListed bounds how many values of a list are shown.
const maxListed = 6

// listDetails returns the values that a list gained and lost, in words. It shows at most maxListed of each, and
// counts the others. It returns "" if there are none.
func listDetails(name string, before, after []string) string {
	only := func(list, others []string) string {
		known := map[string]bool{}
		for _, one := range others {
			known[one] = true
		}
		var out []string
		for _, one := range list {
			if !known[one] {
				out = append(out, oneLine(one))
			}
		}
		if more := len(out) - maxListed; more > 0 {
			out = append(out[:maxListed], fmt.Sprintf("%d more", more))
		}
		return strings.Join(out, ", ")
	}
	var words []string
	if added := only(after, before); added != "" {
		words = append(words, name+" added: "+added)
	}
	if removed := only(before, after); removed != "" {
		words = append(words, name+" removed: "+removed)
	}
	return strings.Join(words, "; ")
}

// oneLine returns a text in which each run of white space is replaced by a single space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// corsDetails returns the fields of CORS that differ, except the origins.
func corsDetails(a, b *ir.CORS) (out []string) {
	say := func(name, x, y string) {
		if x != y {
			out = append(out, fmt.Sprintf("%s: %s; before: %s", name, y, x))
		}
	}
	list := func(values []string) string { return orNone(values) }
	say("allowCredentials", fmt.Sprint(a.Credentials), fmt.Sprint(b.Credentials))
	say("allowMethods", list(a.Methods), list(b.Methods))
	say("allowHeaders", list(a.Headers), list(b.Headers))
	say("exposeHeaders", list(a.Show), list(b.Show))
	say("maxAge", fmt.Sprintf("%d s", a.MaxAge), fmt.Sprintf("%d s", b.MaxAge))
	return out
}

// prefixes parses address ranges. It leaves out ranges that cannot be parsed.
func prefixes(texts []string) (out []netip.Prefix) {
	for _, text := range texts {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			out = append(out, prefix)
		}
	}
	return out
}
