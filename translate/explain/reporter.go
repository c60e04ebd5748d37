package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// Facts are the inputs of a Report other than the query.
type Facts struct {
	View *ir.View
	// Problems are all problems, with their places.
	Problems []manifest.Problem
	// Statuses are the statuses of all objects, sorted by key.
	Statuses []status.Update
	// Places returns where fields are written, as store.Store.Places does. If it is nil, the Report has no places.
	Places func([]manifest.Field) []store.Place
	// Stale are the objects whose last valid version is served.
	Stale map[manifest.Key]store.Stale
	// Outlines returns what the documents of routes contain, as store.Store.Outlines does. If it is nil, the
	// Report lacks the sections that need outlines.
	Outlines func([]manifest.Key) []store.Outline
	// Labels returns the labels of objects, as store.Store.Labels does. If it is nil, the Report lacks policies
	// that select objects by labels.
	Labels func([]manifest.Key) []map[string]string
}

// reporter has what every section of a Report is made from.
type reporter struct {
	facts  Facts
	query  Query
	report *Report
}

// requestReporter builds the Report of one request.
type requestReporter struct {
	reporter
	answer Answer
	over   *overlaps // nil until the method overlaps is called
}

// messages returns the messages of all problems for which the given function returns true. The messages are
// joined, without duplicates. It returns "" if there are no such problems.
func (b *reporter) messages(of func(*manifest.Problem) bool) string {
	var messages []string
	for i := range b.facts.Problems {
		if p := &b.facts.Problems[i]; of(p) && !slices.Contains(messages, p.Message) {
			messages = append(messages, p.Message)
		}
	}
	return strings.Join(messages, "; ")
}

// ofRule reports whether a problem is about a rule, or about a field inside the rule.
func ofRule(p *manifest.Problem, rule *ir.Rule) bool {
	return p.Object == rule.Source.Key && concerns(p, rule.Source.Key, fmt.Sprintf("spec.rules[%d]", ruleIndex(rule)))
}

// concerns reports whether a problem is about a field of an object, or about a field inside that field.
func concerns(p *manifest.Problem, object manifest.Key, field string) bool {
	rest, inside := strings.CutPrefix(p.Field, field)
	return p.Object == object && inside && (rest == "" || rest[0] == '.')
}

// HopsOf returns the matches from the root route to the rule: the chain of delegation, and then the rule's own
// match.
func HopsOf(rule *ir.Rule) []HopReport {
	var all []HopReport
	for _, h := range rule.Chain {
		hop := hopAt(h.Route, h.Rule, h.Match)
		hop.By, hop.RuleName = "delegation", h.Section
		if h.Included {
			hop.By = "inclusion"
		}
		all = append(all, hop)
	}
	last := hopAt(rule.Source.Key, ruleIndex(rule), rule.Position[len(rule.Position)-1])
	last.RuleName = rule.Section
	if rule.SignIn != (manifest.Key{}) { // no match of the route
		last.Match, last.RuleAt = -1, signInPlace(rule)
		last.MatchAt = last.RuleAt
	}
	return append(all, last)
}

// hopAt returns the HopReport of a match.
func hopAt(object manifest.Key, rule, match int) HopReport {
	field := fmt.Sprintf("spec.rules[%d]", rule)
	return HopReport{
		Object: object, Rule: rule, Match: match,
		At:      Source{Object: object},
		RuleAt:  Source{Object: object, Field: field},
		MatchAt: Source{Object: object, Field: fmt.Sprintf("%s.matches[%d]", field, match)},
	}
}

// signInPlace returns where a rule that gatefold added for oauth2 comes from (see ir.Rule.SignIn). Such a rule serves
// a callback path or logout path. The result is the user's rule to which the oauth2 policy applies, or the Gateway.
func signInPlace(rule *ir.Rule) Source {
	if rule.Source.Key.Kind == "Gateway" {
		return Source{Object: rule.Source.Key}
	}
	return Source{Object: rule.Source.Key, Field: fmt.Sprintf("spec.rules[%d]", ruleIndex(rule))}
}

// ruleIndex returns the index of the rule in its own object.
func ruleIndex(rule *ir.Rule) int { return rule.Position[len(rule.Position)-2] }
