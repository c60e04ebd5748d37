package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

// regex returns a matcher for a regular expression over the whole value.
func regex(pattern string) *matcherv3.RegexMatcher { return &matcherv3.RegexMatcher{Regex: pattern} }

func stringMatch(match ir.ValueMatch) *matcherv3.StringMatcher {
	if match.Regex {
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex(match.Value)}}
	}
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: match.Value}}
}

func stringMatchers(list []ir.StringMatch) []*matcherv3.StringMatcher {
	var matchers []*matcherv3.StringMatcher
	for _, match := range list {
		matchers = append(matchers, stringMatcher(match))
	}
	return matchers
}

func stringMatcher(match ir.StringMatch) *matcherv3.StringMatcher {
	m := &matcherv3.StringMatcher{IgnoreCase: match.IgnoreCase}
	switch match.Kind {
	case ir.StringExact:
		m.MatchPattern = &matcherv3.StringMatcher_Exact{Exact: match.Value}
	case ir.StringPrefix:
		m.MatchPattern = &matcherv3.StringMatcher_Prefix{Prefix: match.Value}
	case ir.StringSuffix:
		m.MatchPattern = &matcherv3.StringMatcher_Suffix{Suffix: match.Value}
	case ir.StringContains:
		m.MatchPattern = &matcherv3.StringMatcher_Contains{Contains: match.Value}
	case ir.StringRegex:
		m.MatchPattern = &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex(match.Value)}
		m.IgnoreCase = false
	}
	return m
}

// percentage converts a percentage of requests to Envoy's type, without a runtime key that could change it.
func percentage(percent uint32) *corev3.RuntimeFractionalPercent {
	return &corev3.RuntimeFractionalPercent{
		DefaultValue: &typev3.FractionalPercent{Numerator: percent, Denominator: typev3.FractionalPercent_HUNDRED},
	}
}

// substitute returns a rewrite of the text that a regular expression (the parameter pattern) matches. The parameter
// substitution is the new text, which may refer to groups of the expression.
func substitute(pattern, substitution string) *matcherv3.RegexMatchAndSubstitute {
	return &matcherv3.RegexMatchAndSubstitute{Pattern: regex(pattern), Substitution: substitution}
}
