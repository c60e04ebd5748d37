package xds

import (
	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/translate/ir"
)

// Attempts returns how many regular expressions Envoy may try for one request because of a rule. The result match
// counts those of the rule's match, which are tried for requests of other rules, too. The result policies counts
// those of its policies: the origins of CORS and CSRF, and the calls of matches() in rbac.
func Attempts(rule *ir.Rule) (match, policies int) {
	if rule.Preflight != nil { // for one request, Envoy tries its expressions or those of the rule that it was added for
		return 0, 0
	}
	if rule.Match.Path.Kind == ir.PathRegex {
		match++
	}
	for _, list := range [][]ir.ValueMatch{rule.Match.Headers, rule.Match.Query} {
		for _, v := range list {
			if v.Regex {
				match++
			}
		}
	}
	extras := rule.Action.Extras
	if extras == nil {
		return match, 0
	}
	if extras.RBAC != nil {
		for _, text := range extras.RBAC.Expressions {
			policies += counted.CELPatterns(text)
		}
	}
	if extras.CORS != nil {
		policies += regexes(extras.CORS.Origins)
	}
	if extras.CSRF != nil {
		policies += regexes(extras.CSRF.Origins)
	}
	return match, policies
}

// regexes returns the number of regular expressions in a list.
func regexes(list []ir.StringMatch) (n int) {
	for _, match := range list {
		if match.Kind == ir.StringRegex {
			n++
		}
	}
	return n
}
