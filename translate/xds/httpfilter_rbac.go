package xds

import (
	"fmt"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	rbacfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// openWithoutHeaderCode is the code of the warning that a Deny expression lets requests pass that have not the header
	// or attribute that it reads.
	openWithoutHeaderCode = "OpenWithoutHeader"
	// deniedWithoutHeaderCode is the code of the warning that an Allow expression does not let such requests pass.
	deniedWithoutHeaderCode = "DeniedWithoutHeader"
)

const rbacPolicy = "rbac/"

// rbacFilter returns the HTTP filter for the policy field rbac. It comes after the filters that authenticate,
// because expressions read the metadata of these filters. It comes before the filters that count requests. In a
// route, its configuration is a matcher with an action for every request, and never a list of policies: if a list of
// policies for denial is empty, Envoy lets all requests pass.
func rbacFilter() httpFilter {
	return httpFilter{name: "gatefold/" + string(ir.FieldRBAC), since: 1, chain: emptyRBAC, route: rbacRules}
}

// rbacRules returns the configuration of rbacFilter, or nil without rbac.
func rbacRules(extras *ir.Extras) message {
	if extras.RBAC == nil {
		return nil
	}
	return &rbacfilterv3.RBACPerRoute{Rbac: &rbacfilterv3.RBAC{Matcher: rbacMatcher(extras.RBAC)}}
}

// rbacMatcher returns a matcher that decides by the client's address:
//   - Clients in rbac.Blocked are denied.
//   - Clients in rbac.Allowed get the action of expressionMatch. If rbac.Allowed is empty, all clients get this
//     action, except those in rbac.Blocked.
//   - If rbac.Allowed is not empty, all other clients do not match the policy. They are allowed if rbac.Deny is true,
//     and denied if it is false.
func rbacMatcher(rbac *ir.RBAC) *xdsmatcherv3.Matcher {
	other := rbacAction(rbacPolicy+"-default", rbac.Deny)
	next := expressionMatch(rbac, other)
	if len(rbac.Allowed) > 0 {
		next = onMatcher(bySource(other, addressRanges{rbac.Allowed, next}))
	}
	if len(rbac.Blocked) > 0 {
		return bySource(next, addressRanges{rbac.Blocked, rbacAction(rbacPolicy+"blockedCIDRs", false)})
	}
	return &xdsmatcherv3.Matcher{OnNoMatch: next}
}

// expressionMatch returns the action for a request from an allowed address:
//   - If an expression is true, or there are no expressions, the action denies the request if rbac.Deny is true, and
//     allows it if rbac.Deny is false.
//   - If no expression is true, the parameter other is the action.
//   - If an expression is invalid, the action denies every request.
func expressionMatch(rbac *ir.RBAC, other *xdsmatcherv3.Matcher_OnMatch) *xdsmatcherv3.Matcher_OnMatch {
	if len(rbac.Expressions) == 0 {
		return rbacAction(rbacPolicy+"allowedCIDRs", !rbac.Deny)
	}
	var matchers []*xdsmatcherv3.Matcher_MatcherList_FieldMatcher
	for i, text := range rbac.Expressions {
		parsed, _, fault := parseCEL(text)
		if fault != "" { // checkRBAC has rejected it
			return rbacAction(rbacPolicy+"-invalid", false)
		}
		matchers = append(matchers, fieldMatcher(rbacAction(fmt.Sprintf("%smatchExpressions[%d]", rbacPolicy, i), !rbac.Deny),
			&xdsmatcherv3.Matcher_MatcherList_Predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
				SinglePredicate: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate{
					Input: extension("attributes", &xdsmatcherv3.HttpAttributesCelMatchInput{}),
					Matcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_CustomMatch{CustomMatch: extension("cel",
						&xdsmatcherv3.CelMatcher{ExprMatch: parsed})},
				},
			}}))
	}
	list := firstMatch(matchers...)
	list.OnNoMatch = other
	return onMatcher(list)
}

// onMatcher returns a matcher as the action of another matcher.
func onMatcher(matcher *xdsmatcherv3.Matcher) *xdsmatcherv3.Matcher_OnMatch {
	return &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Matcher{Matcher: matcher}}
}

// checkRBAC rejects what Envoy would reject in rbac, and expressions that can never be right. It warns of expressions
// that fail for requests without an attribute (see absenceProblem).
func checkRBAC(c *checker, extras *ir.Extras) {
	if extras.RBAC == nil {
		return
	}
	for i, text := range extras.RBAC.Expressions {
		field := fmt.Sprintf("%s.policy.matchExpressions[%d]", ir.FieldRBAC.Path(), i)
		_, tree, fault := parseCEL(text)
		if fault != "" {
			c.reject(field, fmt.Sprintf("%q %s", manifest.Shorten(text), fault), "change the expression; it can never decide as it is meant")
			continue
		}
		for _, pattern := range counted.PatternsOf(tree) {
			c.costly(field, pattern)
		}
		if r := unguarded(tree, !extras.RBAC.Deny); r != nil {
			c.problems = append(c.problems, c.absenceProblem(field, r, extras.RBAC.Deny))
		}
		if text := neverInPath(tree); text != "" {
			c.problems = append(c.problems, manifest.Problem{
				Code: "NeverMatches", Severity: manifest.Warning, Object: c.rule.Source.Key, Field: field,
				Message: fmt.Sprintf("no path has %q in it when the expression reads it: escaped letters, digits and -._~ are decoded, and . and .. are resolved", manifest.Shorten(text)),
				Hint:    "write the path as it is then",
			})
		}
	}
}

// absenceProblem returns the warning that an expression fails for requests without an attribute: a request that it was
// meant to deny is let in, or one that it was meant to let in is denied. The latter is said only of a negated
// attribute: otherwise the author means it.
func (c *checker) absenceProblem(field string, r *reading, deny bool) manifest.Problem {
	code, is, does := deniedWithoutHeaderCode, "not allowed", "allows"
	if deny {
		code, is, does = openWithoutHeaderCode, "not denied", "denies"
	}
	return manifest.Problem{
		Code: code, Severity: manifest.Warning, Object: c.rule.Source.Key, Field: field,
		Message: fmt.Sprintf("a request without %s is %s: the expression fails, and does not match", r.words(), is), Hint: r.hint(does),
	}
}
