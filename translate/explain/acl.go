package explain

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// aclWords returns which addresses may pass, in words.
func aclWords(extras *ir.Extras) string {
	acl := extras.ACL
	if acl == nil || !denies(acl) {
		return "every address may pass"
	}
	words, but := aclRules(acl, !acl.Allow), aclRules(acl, acl.Allow)
	if but != "" {
		but = ", but for " + but
	}
	status := fmt.Sprintf("answered with %d", aclStatus(acl))
	switch {
	case words == "":
		return "every request is " + status
	case acl.Allow:
		return fmt.Sprintf("requests from %s are %s%s", words, status, but)
	}
	return fmt.Sprintf("only requests from %s pass%s; others are %s", words, but, status)
}

// aclRules returns the rules with an action, in words.
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

// maxShownRanges bounds the rules of a policy, and the ranges of a rule, in words.
const maxShownRanges = 4

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

func aclStatus(acl *ir.ACL) uint32 {
	if acl.Response == nil {
		return http.StatusForbidden
	}
	return acl.Response.Status
}

// aclGate denies by the client's address. The question may lack that address.
func aclGate(rule *ir.Rule, r *request) gate {
	acl := rule.Action.Extras.OrNone().ACL
	if acl == nil || !denies(acl) {
		return gate{}
	}
	return aclDecision(acl, &rule.Action, r.client, fmt.Sprintf(" (%d)", aclStatus(acl)))
}

// addressUnknown ends a caveat that the client's address would decide.
const addressUnknown = ", which is not known"

// WithAddressHint returns a caveat of a Report. If the client's address would decide it, the hint
// follows: how that address is given, in the words of the one who shows the caveat.
func WithAddressHint(caveat, hint string) string {
	if strings.HasSuffix(caveat, addressUnknown) {
		return caveat + ": " + hint
	}
	return caveat
}

// aclDecision returns what an acl does with a client. answer is what the client gets, in words. The
// Parts of the action name the policies.
func aclDecision(acl *ir.ACL, action *ir.Action, client netip.Addr, answer string) gate {
	by := partsOf(action, ir.FieldACL.PartKind())
	if !client.IsValid() && allows(acl) {
		return gate{unless: []string{fmt.Sprintf("acl: %s denies the client's address%s%s", by, answer, addressUnknown)}}
	}
	allow, i := decide(acl, client)
	if allow {
		return gate{}
	}
	denied := gate{status: aclStatus(acl), reply: true, why: fmt.Sprintf("%s denies every address that no rule contains", by)}
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

// accessGate returns what the policies of a stream do with a client. A status in the gate means
// that the connection is closed.
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

// onlySource returns the place of the field below in a policy, if only one policy has set field.
// Several policies that are merged have no common place.
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

// decide returns whether an address may pass, and the index of the rule that decides, -1 for none.
// The rule with the longest range that contains the address decides.
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

// denies reports whether the acl denies some address, judged by its actions only.
func denies(acl *ir.ACL) bool { return decides(acl, false) }

// allows reports whether the acl lets some address pass, judged by its actions only.
func allows(acl *ir.ACL) bool { return decides(acl, true) }

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
