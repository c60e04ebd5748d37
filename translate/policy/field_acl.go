package policy

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate/ir"
)

// aclOff reports whether the field acl denies no request.
func aclOff(s *api.TrafficPolicySpec) bool {
	return s.ACL.DefaultAction == api.ACLAllow &&
		!slices.ContainsFunc(s.ACL.Rules, func(r api.ACLRule) bool { return r.Action == api.ACLDeny })
}

// joinACLs combines the policy field acl of two specs, and sets the result in the parameter into (see Field.join). It
// is used where the child is preferred; confineACL is for a parent that is.
// The spec last has precedence over the spec first. The result has the rules of both specs. If both have a rule
// for the same range, only the rule from last remains. The defaultAction comes from last. The denyResponse also
// comes from last, or from first if last has none.
func joinACLs(into, first, last *api.TrafficPolicySpec) {
	out := *last.ACL
	preferred := map[netip.Prefix]bool{}
	for _, rule := range last.ACL.Rules {
		for _, text := range rule.CIDRs {
			r, _ := parseCIDR(text)
			preferred[r] = true
		}
	}
	out.Rules = slices.Clone(last.ACL.Rules)
	for _, rule := range first.ACL.Rules {
		rule.CIDRs = slices.DeleteFunc(slices.Clone(rule.CIDRs), func(text string) bool {
			r, _ := parseCIDR(text)
			return preferred[r]
		})
		if len(rule.CIDRs) > 0 {
			out.Rules = append(out.Rules, rule)
		}
	}
	if out.DenyResponse == nil {
		out.DenyResponse = first.ACL.DenyResponse
	}
	into.ACL = &out
}

// lowerACL converts the policy field acl (see Field.lower).
func lowerACL(spec *api.TrafficPolicySpec, extras *ir.Extras) (problems []manifest.Problem) {
	from := spec.ACL
	to := &ir.ACL{Allow: from.DefaultAction == api.ACLAllow}
	known := map[netip.Prefix]int{} // the index of the rule with a range
	for i, rule := range from.Rules {
		lowered := ir.ACLRule{Allow: rule.Action == api.ACLAllow}
		if rule.Name != nil {
			lowered.Name = *rule.Name
		}
		for j, text := range rule.CIDRs {
			field := fmt.Sprintf("%s.rules[%d].cidrs[%d]", ir.FieldACL.Path(), i, j)
			r, fault := parseCIDR(text)
			if fault != nil {
				problems = append(problems, fault.at(field))
				continue
			}
			before, twice := known[r]
			switch {
			case !twice:
				known[r] = i
				lowered.Ranges = append(lowered.Ranges, r.String())
			case from.Rules[before].Action != rule.Action:
				problems = append(problems, manifest.Problem{
					Code: "UnsupportedValue", Severity: manifest.Error, Field: field,
					Message: fmt.Sprintf("%s is in rules[%d], too, with the action %s: the longest range decides, and these are the same", r, before, from.Rules[before].Action),
					Hint:    "remove it from one of the rules",
				})
			default:
				problems = append(problems, warning(field, fmt.Sprintf("%s is in rules[%d] already, which decides", r, before), "remove it from one of the rules"))
			}
		}
		if rule.Response != nil {
			lowered.Response = &ir.ACLResponse{} // Envoy's own
			if own := rule.Response; own.StatusCode != nil || len(own.Headers) > 0 || blockedBy(own) != "" {
				lowered.Response, _ = lowerACLResponse(own, nil)
			}
		}
		to.Rules = append(to.Rules, lowered)
	}
	to.Response, problems = lowerACLResponse(from.DenyResponse, problems)
	extras.ACL = to
	return problems
}

// lowerACLResponse converts denyResponse, which may be nil, and appends its problems to problems.
func lowerACLResponse(from *api.ACLDenyResponse, problems []manifest.Problem) (*ir.ACLResponse, []manifest.Problem) {
	if from == nil {
		return nil, problems
	}
	to := &ir.ACLResponse{Status: number(from.StatusCode, http.StatusForbidden)}
	if to.Status < http.StatusOK {
		problems = append(problems, manifest.Problem{
			Code: "UnsupportedValue", Severity: manifest.Error, Field: ir.FieldACL.Path() + ".denyResponse.statusCode",
			Message: fmt.Sprintf("%d is no final status: clients would wait for another answer", to.Status), Hint: "use a status from 200 to 599",
		})
	}
	for _, h := range from.Headers {
		to.Headers = append(to.Headers, ir.Header{Name: h.Name, Value: h.Value})
	}
	to.BlockedBy = blockedBy(from)
	if from.AddBlockedByHeader != nil {
		problems = append(problems, manifest.Problem{
			Code: schema.DeprecatedField, Severity: manifest.Warning, Field: ir.FieldACL.Path() + ".denyResponse.addBlockedByHeader",
			Message: "addBlockedByHeader is an old name, and a later version of gatefold rejects it", Hint: "rename it to blockedByHeaderName",
		})
	}
	return to, problems
}

// blockedBy returns the name of the header that says which rule denies a request, "" if there is none.
func blockedBy(from *api.ACLDenyResponse) string {
	switch {
	case from.BlockedByHeaderName != nil:
		return *from.BlockedByHeaderName
	case from.AddBlockedByHeader != nil:
		return *from.AddBlockedByHeader
	}
	return ""
}

// cidrFault says what is wrong with an address or a range of addresses, and what to do.
type cidrFault struct{ message, hint string }

// at returns the fault as a problem of the given field.
func (f *cidrFault) at(field string) manifest.Problem {
	return manifest.Problem{Code: schema.InvalidValue, Severity: manifest.Error, Field: field, Message: f.message, Hint: f.hint}
}

// parseCIDR parses a range of addresses, or one address. The fault is nil if the text is valid.
func parseCIDR(text string) (netip.Prefix, *cidrFault) {
	r, err := netip.ParsePrefix(text)
	if !strings.Contains(text, "/") {
		var one netip.Addr
		if one, err = netip.ParseAddr(text); one.Zone() == "" {
			r = netip.PrefixFrom(one, one.BitLen())
		}
	}
	switch {
	case err != nil || !r.IsValid():
		return r, &cidrFault{fmt.Sprintf("%q is neither an IP address nor a range of addresses", text), "write it as 10.1.0.0/16, 2001:db8::/32 or 192.0.2.7"}
	case r.Addr().Is4In6() && r.Bits() >= 96:
		r = netip.PrefixFrom(r.Addr().Unmap(), r.Bits()-96).Masked()
		return r, &cidrFault{fmt.Sprintf("%s is an IPv4 range in the spelling of IPv6", text), fmt.Sprintf("write %s", r)}
	case r != r.Masked():
		one := netip.PrefixFrom(r.Addr(), r.Addr().BitLen())
		return r, &cidrFault{fmt.Sprintf("%s has bits behind its length of %d", text, r.Bits()), fmt.Sprintf("did you mean %s, or %s for this address alone?", r.Masked(), one)}
	}
	return r, nil
}
