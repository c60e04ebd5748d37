package explain

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// aclWords returns, as text, which client addresses may pass the acl of the policies. The text says that every
// address may pass if there is no acl, or if the acl denies no address.
func aclWords(extras *ir.Extras) string {
	acl := extras.ACL
	if acl == nil || !denies(acl) {
		return "every address may pass"
	}
	words, but := aclRules(acl, !acl.Allow), aclRules(acl, acl.Allow)
	if but != "" {
		but = ", but for " + but
	}
	status := "answered with " + aclStatuses(acl)
	switch {
	case words == "":
		return "every request is " + status
	case acl.Allow:
		return fmt.Sprintf("requests from %s are %s%s", words, status, but)
	}
	return fmt.Sprintf("only requests from %s pass%s; others are %s", words, but, status)
}

// aclRules returns the rules of an acl that allow addresses (or that deny addresses, if allow is false), as
// text. It shows at most maxShownRanges rules and counts the others. It returns "" if there is no such rule.
func aclRules(acl *ir.ACL, allow bool) string {
	var words []string
	for i := range acl.Rules {
		if rule := &acl.Rules[i]; rule.Allow == allow && len(rule.Ranges) > 0 {
			words = append(words, aclRuleWords(rule))
		}
	}
	if more := len(words) - maxShownRanges; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxShownRanges], ", "), more)
	}
	return strings.Join(words, ", ")
}

// maxShownRanges bounds how many rules of a policy, and how many ranges of a rule, a text shows.
const maxShownRanges = 4

// aclRuleWords returns the name of a rule and its ranges as text. It shows at most maxShownRanges ranges and
// counts the others.
func aclRuleWords(rule *ir.ACLRule) string {
	words := strings.Join(rule.Ranges[:min(len(rule.Ranges), maxShownRanges)], ", ")
	if more := len(rule.Ranges) - maxShownRanges; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	if rule.Name != "" {
		words = fmt.Sprintf("%s (%s)", rule.Name, words)
	}
	return words
}

// aclStatus returns the HTTP status for requests that the rule with an index denies, -1 for addresses that no rule
// contains.
func aclStatus(acl *ir.ACL, rule int) uint32 {
	if response := acl.ResponseOf(rule); response != nil {
		return response.Status
	}
	return http.StatusForbidden
}

// aclStatuses returns the HTTP statuses for denied requests, as text.
func aclStatuses(acl *ir.ACL) string {
	var words []string
	for i := len(acl.Rules) - 1; i >= -1; i-- {
		if i >= 0 && (acl.Rules[i].Allow || len(acl.Rules[i].Ranges) == 0) || i < 0 && acl.Allow {
			continue
		}
		if text := fmt.Sprint(aclStatus(acl, i)); !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " or ")
}

// aclGate returns what the filter acl does with a request. The gate is empty if the rule has no acl, or if the
// client's address may pass. If the address is not known, see aclDecision.
func aclGate(rule *ir.Rule, r *request) gate {
	acl := rule.Action.Extras.OrNone().ACL
	if acl == nil || !denies(acl) {
		return gate{}
	}
	return aclDecision(acl, &rule.Action, r.client, fmt.Sprintf(" (%s)", aclStatuses(acl)))
}

// addressUnknown is the end of a caveat that exists only because the client's address is not known. WithAddressHint
// finds such a caveat by this end.
const addressUnknown = ", which is not known"

// WithAddressHint returns the text that users see for a caveat of a Report. If the caveat depends on the
// client's address, the text ends with the hint, which says how to add that address to the query.
func WithAddressHint(caveat, hint string) string {
	if strings.HasSuffix(caveat, addressUnknown) {
		return caveat + ": " + hint
	}
	return caveat
}

// aclDecision returns what an acl does with the address of a client. An invalid address means that the address is not
// known:
//   - If the acl allows the address, the gate is empty.
//   - If the acl denies the address, the gate has a status. This is also so if the address is not known, and the acl
//     allows no address at all.
//   - If the address is not known, and the acl allows some addresses, the gate has no status, and a text in
//     gate.unless. The text says that the policies, which action.Parts names, may deny the address. It contains the
//     parameter answer, for example " (403)".
func aclDecision(acl *ir.ACL, action *ir.Action, client netip.Addr, answer string) gate {
	by := partsOf(action, ir.FieldACL.PartKind())
	if !client.IsValid() && allows(acl) {
		return gate{unless: []string{fmt.Sprintf("acl: %s denies the client's address%s%s", by, answer, addressUnknown)}}
	}
	allow, i := decide(acl, client)
	if allow {
		return gate{}
	}
	denied := gate{status: aclStatus(acl, i), reply: true, why: fmt.Sprintf("%s denies every address that no rule contains", by)}
	field := "defaultAction"
	if i >= 0 {
		name := "a rule without a name"
		if acl.Rules[i].Name != "" {
			name = "rule " + acl.Rules[i].Name
		}
		denied.why, field = fmt.Sprintf("denied by %s of %s", name, by), fmt.Sprintf("rules[%d]", i)
	}
	if client.IsValid() {
		denied.why += fmt.Sprintf("; the client's address is %s", client)
	}
	denied.at = onlySource(action, ir.FieldACL, field)
	return denied
}

// accessGate returns what the policies of a TCPRoute, TLSRoute or UDPRoute do with a client's address (the
// parameter client). The gate has a status if Envoy closes the connection. It is empty if the connection passes,
// and if access is nil. For an address that is not valid, see aclDecision.
func accessGate(access *ir.Access, client netip.Addr) gate {
	switch {
	case access == nil:
		return gate{}
	case access.Closed != "":
		return gate{status: http.StatusForbidden, why: access.Closed, at: Source{Object: access.Parts[0].Object, Field: access.Parts[0].Field}}
	case !denies(access.ACL):
		return gate{}
	}
	return aclDecision(access.ACL, &ir.Action{Parts: access.Parts}, client, "")
}

// onlySource returns the place of a value inside a policy field, such as spec.acl.rules[0]. The parameter below
// is the path of the value inside the policy field, for example "rules[0]". If several policies set the policy
// field, it is not known which of them has the value. onlySource then returns an empty Source, as it does if no
// policy sets the policy field.
func onlySource(action *ir.Action, field ir.Field, below string) (at Source) {
	for _, part := range action.Parts {
		if part.Kind != field.PartKind() {
			continue
		}
		if at.Field != "" {
			return Source{}
		}
		at = Source{Object: part.Object, Field: field.Path() + "." + below}
	}
	return at
}

// decide returns whether an acl lets an address pass. Of the ranges that contain the address, the smallest range (the
// one with the longest prefix) decides, and the result rule is the index of the acl rule with this range. If no range
// contains the address, the acl's default decides, and the result rule is -1.
func decide(acl *ir.ACL, address netip.Addr) (allow bool, rule int) {
	address, allow, rule = address.Unmap(), acl.Allow, -1
	longest := -1
	for i := range acl.Rules {
		for _, text := range acl.Rules[i].Ranges {
			r, err := netip.ParsePrefix(text)
			if err == nil && r.Bits() > longest && r.Contains(address) {
				allow, rule, longest = acl.Rules[i].Allow, i, r.Bits()
			}
		}
	}
	return allow, rule
}

// denies reports whether the acl may deny some address: the default action is deny, or a rule with ranges has the
// action deny.
func denies(acl *ir.ACL) bool { return decides(acl, false) }

// allows reports whether the acl may let some address pass: the default action is allow, or a rule with ranges has
// the action allow.
func allows(acl *ir.ACL) bool { return decides(acl, true) }

// decides reports whether the acl allows some address (or denies some address, if the parameter allow is false):
// by its default action, or by a rule with ranges.
func decides(acl *ir.ACL, allow bool) bool {
	if acl.Allow == allow {
		return true
	}
	for i := range acl.Rules {
		if acl.Rules[i].Allow == allow && len(acl.Rules[i].Ranges) > 0 {
			return true
		}
	}
	return false
}
