package translate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// Envoy's oauth2 filter answers the callback of an identity provider, and a logout, only on a route with its
// configuration. So each rule that makes users sign in adds two more rules to its hosts, for these two paths.
// The added rules never forward to a backend.

// signInMatches is the last element of ir.Rule.Position in a callback rule. In a logout rule, the last element is
// signInMatches+1. In other rules, the last element is the index of a match. A match never has an index as large as
// signInMatches, because the schema allows at most 64 matches.
const signInMatches = 1 << 16

// signInRule returns the rule that answers the callback of an identity provider, or the logout if the parameter
// logout is true. The parameter base is a rule whose policies name the provider; the new rule has the same
// policies. Its match is the parameter match with another path: the exact path of the callback or logout.
func signInRule(base *ir.Rule, match ir.Match, logout bool) *ir.Rule {
	use := base.Action.Extras.OAuth2
	rule, path, name, at := *base, use.Extension.SignIn.RedirectPath, "oauth2-callback", signInMatches
	if logout {
		path, name, at = use.Extension.SignIn.LogoutPath, "oauth2-logout", signInMatches+1
	}
	rule.Match, rule.SignIn, rule.Guard = match, use.Key, false
	rule.Match.Path = ir.Path{Kind: ir.PathExact, Value: path}
	last := len(base.Position) - 1
	rule.Name = base.Name[:strings.LastIndexByte(base.Name, '/')+1] + name
	rule.Position = append(slices.Clone(base.Position[:last]), at)
	rule.Action = ir.Action{Respond: &ir.Respond{Status: http.StatusNotFound}, Extras: base.Action.Extras, Parts: policyPartsOf(&base.Action)}
	return &rule
}

// policyPartsOf returns the Parts of an action that come from fields of policies.
func policyPartsOf(action *ir.Action) []ir.Part {
	return slices.DeleteFunc(slices.Clone(action.Parts), func(part ir.Part) bool {
		_, ok := part.PolicyField()
		return !ok
	})
}

// signInKey identifies one pair of a callback rule and a logout rule that a node of a delegation tree (see flatKey)
// needs. A root needs one pair for each identity provider. A child needs one pair for each identity provider and
// each match by which the parent delegates to the child.
type signInKey struct {
	Point     string       // the name of the parent's match (route.Point.Name); "" for a root
	Extension manifest.Key // the GatewayExtension of the provider
}

// addSignInRules returns the rules for callback and logout that a node (see flatKey) needs. The node needs a pair of
// rules for each identity provider with which the node's rules make users sign in. A child has a pair for each
// provider and each match by which the parent delegates to the child. Such a pair matches only requests that the
// parent delegates by this match. The parameter links has the delegating matches of the parent; it is empty for a
// root.
//
// A child gets no pair in two cases:
//   - The rules that delegate to the child's rule, from the root down to the parent, use the same provider. A route
//     above the child then has the pair already. The function providerAbove returns the provider of these delegating
//     rules, for a rule of the child.
//   - The parent does not delegate the path for callback or logout to the child, so requests for this path cannot
//     reach the child. addSignInRules then adds a problem to out.
func (out *flatOut) addSignInRules(links []route.Link, providerAbove func(*ir.Rule) manifest.Key) (added []*ir.Rule) {
	done := map[signInKey]bool{}
	rules := slices.Clone(out.Rules)
	for _, point := range out.Points {
		rules = append(rules, point.Rest)
	}
	for _, base := range rules {
		if base.Action.Extras == nil || base.Action.Extras.OAuth2 == nil {
			continue
		}
		use, match := base.Action.Extras.OAuth2, ir.Match{Hosts: base.Match.Hosts}
		key := signInKey{Extension: use.Key}
		if len(links) > 0 {
			key.Point = base.Name[:max(strings.LastIndexByte(base.Name, '>'), 0)]
		}
		if done[key] {
			continue
		}
		done[key] = true
		if key.Point != "" {
			if providerAbove(base) == use.Key {
				continue
			}
			at := slices.IndexFunc(links, func(l route.Link) bool { return l.Point.Name == key.Point })
			if at < 0 {
				continue
			}
			match = links[at].Point.Matcher
			match.Hosts = base.Match.Hosts
			if problem := outsideOf(base, match.Path); problem != nil {
				out.Problems = append(out.Problems, *problem)
				continue
			}
		}
		for _, logout := range []bool{false, true} {
			rule := signInRule(base, match, logout)
			out.keepPolicies(rule, base)
			added = append(added, rule)
		}
	}
	return added
}

// keepPolicies copies the policies of one rule (the parameter base) in out.Policies to a new rule (the parameter
// rule). If out.Policies has no policies for base, keepPolicies does nothing.
func (out *flatOut) keepPolicies(rule, base *ir.Rule) {
	if resolved, ok := out.Policies[base.Name]; ok {
		out.Policies[rule.Name] = resolved
	}
}

// outsideOf returns an error if the path for callback or logout of a rule's identity provider is not within the
// path that the parent delegates (parent). If parent is not a path prefix, there always is an error. If both
// paths are within the prefix, the result is nil.
func outsideOf(rule *ir.Rule, parent ir.Path) *manifest.Problem {
	provider := rule.Action.Extras.OAuth2.Extension.SignIn
	for _, path := range []string{provider.RedirectPath, provider.LogoutPath} {
		if parent.Kind == ir.PathPrefix && scope.CoversPath(parent.Value, path) {
			continue
		}
		return &manifest.Problem{
			Code: "SignInOutside", Severity: manifest.Error, Object: rule.Source.Key, Field: ruleField(rule),
			Message: fmt.Sprintf("users cannot finish to sign in: path %s of %s is outside of %s, which is all that the parent delegates", path, provider.Extension, parent.Value),
			Hint:    "have redirectURI and logoutPath of the extension begin with the parent's path, or attach the policy to the parent",
		}
	}
	return nil
}

// providerOf returns the GatewayExtension of the identity provider that a rule belongs to: users of the rule
// sign in with it, or the rule answers its callback or logout. It returns the zero Key if there is none.
func providerOf(rule *ir.Rule) manifest.Key {
	if extras := rule.Action.Extras; rule.SignIn == (manifest.Key{}) && extras != nil && extras.OAuth2 != nil {
		return extras.OAuth2.Key
	}
	return rule.SignIn
}
