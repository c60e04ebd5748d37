package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// maxDelegates bounds the child routes that a Reason names.
const maxDelegates = 3

// delegatingMatch is a match of a rule that delegates its requests to child routes. It is a node in a tree of
// such matches (see chainsOf).
type delegatingMatch struct {
	chain []ir.Hop // the matches from the root route's match down to this match
	// path is first the path of the match above this match. The method follow then sets it to the path of this
	// match.
	path store.PathOutline
	// below has the matches directly below this match: matches of the child routes that delegate, too.
	below map[ir.Hop]*delegatingMatch
}

// findDelegation returns the delegating match that covers the request's path. If several cover it, it returns
// the one with the longest path, and among paths of that length the one with the longest chain. It returns nil if
// none covers the path. It reads the documents of the routes, because virtual hosts have the rules of child routes
// only. Without the documents it returns nil.
func (b *requestReporter) findDelegation(host *ir.HostView) *delegatingMatch {
	over, root := b.overlaps(), chainsOf(host)
	var best *delegatingMatch
	for level := root.children(); len(level) > 0; {
		var routes []manifest.Key
		for _, d := range level {
			routes = append(routes, d.chain[len(d.chain)-1].Route)
		}
		over.read(routes, b.facts.Outlines)
		var next []*delegatingMatch
		for _, d := range level {
			if !over.follow(d) {
				continue
			}
			if best == nil || d.longerThan(best) {
				best = d
			}
			next = append(next, d.children()...)
		}
		level = next
	}
	return best
}

// longerThan reports whether the path of d is longer than the path of the parameter other. If the paths have the
// same length, it reports whether the chain of d is longer.
func (d *delegatingMatch) longerThan(other *delegatingMatch) bool {
	return cmp.Or(cmp.Compare(len(d.path.Value), len(other.path.Value)), cmp.Compare(len(d.chain), len(other.chain))) > 0
}

// chainsOf returns the delegating matches above the rules of a virtual host, as a tree. The root stands for the
// virtual host: it has no match. chainsOf considers at most maxCompared rules.
func chainsOf(host *ir.HostView) *delegatingMatch {
	root, looked := &delegatingMatch{}, 0
	for rule := range host.Rules {
		if looked++; looked > maxCompared {
			break
		}
		at := root
		for i, hop := range rule.Chain {
			child := at.below[hop]
			if child == nil {
				child = &delegatingMatch{chain: rule.Chain[:i+1], path: at.path}
				if at.below == nil {
					at.below = map[ir.Hop]*delegatingMatch{}
				}
				at.below[hop] = child
			}
			at = child
		}
	}
	return root
}

// children returns the matches directly below d, sorted by route, rule and match. It sets the path of each
// match to d.path.
func (d *delegatingMatch) children() []*delegatingMatch {
	all := slices.Collect(maps.Values(d.below))
	slices.SortFunc(all, func(a, b *delegatingMatch) int {
		x, y := a.chain[len(a.chain)-1], b.chain[len(b.chain)-1]
		return cmp.Or(manifest.CompareKeys(x.Route, y.Route), cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.Match, y.Match))
	})
	for _, child := range all {
		child.path = d.path
	}
	return all
}

// follow computes the path that the match d delegates, and reports whether this path covers the request's path.
// Before the call, d.path must be the path of the match above d. The call replaces it:
//
//   - For a root route, by the path in the route's own match.
//   - For an included route (GEP-1058), by the path above joined with the path in its own match.
//   - For another route, by the path in its own match. If that is "/", the path above stays.
//
// A match without a path counts as "/". follow returns false if the route's document does not have the rule.
func (o *overlaps) follow(d *delegatingMatch) bool {
	last := d.chain[len(d.chain)-1]
	rules := o.outlines[last.Route].Rules
	if last.Rule >= len(rules) {
		return false
	}
	own := store.PathOutline{Value: "/"}
	if paths := rules[last.Rule].Paths; last.Match < len(paths) {
		own = paths[last.Match]
	}
	switch {
	case len(d.chain) == 1:
		d.path = own
	case d.chain[len(d.chain)-2].Included: // relative to the parent's path
		d.path = store.PathOutline{Type: own.Type, Value: strings.TrimSuffix(d.path.Value, "/") + own.Value}
	case own.Value != "/":
		d.path = own
	}
	return o.fitPath(d.path, o.path) > 0
}

// words returns the path of d as text, written like the path of a rule in a Report (see pathWords).
func (d *delegatingMatch) words() string {
	kind := map[string]ir.PathKind{"Exact": ir.PathExact, "RegularExpression": ir.PathRegex}
	of, special := kind[d.path.Type]
	if !special {
		of = ir.PathPrefix
	}
	return pathWords(ir.Path{Kind: of, Value: d.path.Value})
}

// delegation sets the Delegation of the report: the rule of d, which delegates requests for the path to other
// routes. It returns a sentence that names the rule and says that none of these routes matches the path.
func (b *requestReporter) delegation(d *delegatingMatch) string {
	last := d.chain[len(d.chain)-1]
	rules := b.overlaps().outlines[last.Route].Rules
	report := &DelegationReport{
		Object: last.Route, Rule: last.Rule, RuleName: last.Section, Path: d.words(),
		At: Source{Object: last.Route, Field: fmt.Sprintf("spec.rules[%d]", last.Rule)},
	}
	for _, child := range rules[last.Rule].Children {
		if words := childWords(child); !slices.Contains(report.To, words) {
			report.To = append(report.To, words)
		}
	}
	report.To = report.To[:min(len(report.To), maxSuggestions)]
	b.report.Delegation = report
	to := strings.Join(report.To[:min(len(report.To), maxDelegates)], ", ")
	if len(report.To) > maxDelegates {
		to += ", …"
	}
	words := report.Path
	if report.RuleName != "" {
		words = report.RuleName + ", " + words
	}
	return fmt.Sprintf("%s, rule %d (%s) delegates to %s, and no route there matches %s",
		report.Object, report.Rule, words, cmp.Or(to, "the routes that name it as parent"), b.answer.Path)
}

// childWords returns a child of a rule as text: a route, all routes of a namespace, or routes with a label.
func childWords(child manifest.Key) string {
	switch {
	case child.Kind == "label":
		return fmt.Sprintf("routes with the label %s in %s", child.Name, child.Namespace)
	case child.Name == "*":
		return "every route in " + child.Namespace
	}
	return child.String()
}

// over reports whether a rule is below d: d is one of the delegating matches that lead to the rule.
func (d *delegatingMatch) over(rule *ir.Rule) bool {
	return len(rule.Chain) >= len(d.chain) && slices.Equal(rule.Chain[:len(d.chain)], d.chain)
}
