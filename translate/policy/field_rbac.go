package policy

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// rbacOff reports whether the field lets all requests pass: the action is not Deny, one expression is "true",
// and there are no ranges.
func rbacOff(s *api.TrafficPolicySpec) bool {
	policy := s.RBAC.Policy
	return s.RBAC.Action != api.RBACDeny && slices.Contains(policy.MatchExpressions, "true") &&
		len(policy.AllowedCIDRs)+len(policy.BlockedCIDRs) == 0
}

// lowerRBAC converts the policy field rbac (see Field.lower).
func lowerRBAC(spec *api.TrafficPolicySpec, extras *ir.Extras) (problems []manifest.Problem) {
	from := spec.RBAC.Policy
	to := &ir.RBAC{Deny: spec.RBAC.Action == api.RBACDeny, Expressions: from.MatchExpressions}
	at := ir.FieldRBAC.Path()
	ranges := func(list []api.CIDR, name string) (out []string) {
		for i, text := range list {
			r, fault := parseCIDR(text)
			if fault != nil {
				problems = append(problems, fault.at(fmt.Sprintf("%s.policy.%s[%d]", at, name, i)))
			}
			if fault == nil && !slices.Contains(out, r.String()) {
				out = append(out, r.String())
			}
		}
		return out
	}
	to.Allowed, to.Blocked = ranges(from.AllowedCIDRs, "allowedCIDRs"), ranges(from.BlockedCIDRs, "blockedCIDRs")
	if to.Deny && len(from.MatchExpressions)+len(from.AllowedCIDRs) == 0 {
		problems = append(problems, warning(at+".action",
			"without matchExpressions and allowedCIDRs every request matches, so that Deny rejects all of them",
			"write action: Allow to reject blockedCIDRs alone"))
	}
	extras.RBAC = to
	return problems
}
