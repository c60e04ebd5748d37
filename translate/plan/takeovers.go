package plan

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// routeMatch identifies a match of a route, independent of the position of the match in the route. The field match is
// the text that the function matchKey returns for the match.
type routeMatch struct {
	route manifest.Key
	match string
}

func routeMatchOf(e *entry) routeMatch { return routeMatch{e.rule.Source.Key, e.match} }

// domainAt identifies a virtual host of a port.
type domainAt struct {
	portKey
	chain, domain string
}

// whereabouts finds the rules of one configuration (before or after). The map domains has, for each match of a
// route, the virtual hosts that have the match. The map named has the rules by the names of their Envoy routes.
type whereabouts struct {
	domains map[routeMatch][]domainAt
	named   map[string]*ir.Rule
}

// newWhereabouts returns the whereabouts of the rules of a View.
func newWhereabouts(view *ir.View) *whereabouts {
	w := &whereabouts{domains: map[routeMatch][]domainAt{}, named: map[string]*ir.Rule{}}
	for key, port := range portsOf(view) {
		for i := range port.Hosts {
			host := &port.Hosts[i]
			for rule := range host.Rules {
				at := routeMatch{rule.Source.Key, matchKey(&rule.Match)}
				w.domains[at] = append(w.domains[at], domainAt{key, host.Chain, host.Domain})
				w.named[rule.Name] = rule
			}
		}
	}
	return w
}

// takeovers finds out, for the hosts of a hostPair, why requests are matched by another rule than before.
type takeovers struct {
	key     portKey
	views   [2]*ir.HostView
	indexes [2]*index
	rules   [2]func() *whereabouts
	objects *objectChanges
}

// ruleOutcome is what became of a rule of one configuration in the other configuration: for example, the rule
// is absent there, or has another match.
type ruleOutcome uint8

const (
	unchanged ruleOutcome = iota
	absent                // the other side does not have the rule
	edited                // the other side has the rule with another match
	moved                 // the other side has the rule only for other hosts
	hidden                // the other side has the rule, but a virtual host with a more specific domain gets the requests
)

// outcomeOfRule returns what became of an entry's rule in the other configuration. The parameter side says which
// configuration the entry is from: 0 is before, 1 is after. For an edited rule, the second result is the rule as it
// is in the other configuration. For any other rule, the second result is nil. If e is nil, the results are the
// constant unchanged and nil.
func (t *takeovers) outcomeOfRule(side int, e *entry) (ruleOutcome, *ir.Rule) {
	other := 1 - side
	if e == nil || t.indexes[other].counterpart(e) != nil && t.indexes[other].counterpart(e).rule.Source.Key == e.rule.Source.Key {
		return unchanged, nil
	}
	there := t.rules[other]()
	if domains := there.domains[routeMatchOf(e)]; len(domains) > 0 {
		if view := t.views[side]; view != nil && slices.Contains(domains, domainAt{t.key, view.Chain, view.Domain}) {
			if t.views[other] == nil || t.views[other].Domain != view.Domain {
				return hidden, nil
			}
			return unchanged, nil // it comes after another rule with the same match
		}
		return moved, nil
	}
	one := there.named[e.rule.Name]
	if one == nil || one.Source.Key != e.rule.Source.Key || len(t.rules[side]().domains[routeMatch{one.Source.Key, matchKey(&one.Match)}]) > 0 {
		return absent, nil
	}
	return edited, one
}

// reason returns the reason why requests go to the rule p.after now, and no longer to the rule p.before.
func (t *takeovers) reason(p pair) Reason {
	was, old := t.outcomeOfRule(0, p.before)
	is, _ := t.outcomeOfRule(1, p.after)
	text := t.words(p, was, is)
	var at []Place
	if p.after != nil {
		at = append(at, t.outcomePlace(p.after, is, false))
	}
	switch {
	case p.before == nil || was == unchanged || was == hidden:
	case was == edited:
		place := placeOfRule(p.before, false)
		last := explain.HopsOf(old)
		place.Source = last[len(last)-1].MatchAt
		if !slices.Contains(at, place) {
			at = append(at, place)
		}
	default:
		at = append(at, t.outcomePlace(p.before, was, was == absent && t.objects.mistakeOf(p.before.rule.Source.Key) == ""))
	}
	return Reason{text, at}
}

// outcomePlace returns the place that explains what became of an entry's rule:
//
//   - If the rule is moved and its route changed, it is the route's field hostnames.
//   - If the rule is absent because its route is invalid, it is the route.
//   - In all other cases, it is the rule's match: in the old configuration if the parameter inOld is true, and
//     otherwise in the new configuration.
func (t *takeovers) outcomePlace(e *entry, outcome ruleOutcome, inOld bool) Place {
	if route := e.rule.Source.Key; outcome == moved && t.objects.kinds[route] == Changed {
		return Place{Source: explain.Source{Object: route, Field: "spec.hostnames"}}
	} else if outcome == absent && !inOld && t.objects.kinds[route] == Removed {
		return Place{Source: explain.Source{Object: route}} // it is invalid
	}
	return placeOfRule(e, inOld)
}

// words returns the text that explains why the rule p.after now gets the requests that p.before got. The parameter
// ofBefore is the result of outcomeOfRule for p.before, and the parameter ofAfter is the result for p.after.
func (t *takeovers) words(p pair, ofBefore, ofAfter ruleOutcome) string {
	if p.before != nil && p.after != nil && p.before.rule.Name == p.after.rule.Name && ofBefore == edited && ofAfter == edited {
		return t.afterWords(p.after, ofAfter)
	}
	a, b := ruleOf(p.before), ruleOf(p.after)
	switch {
	case p.after == nil && t.views[1] == nil:
		return fmt.Sprintf("no route serves the host any more; before, %s did", a.Words()) + t.objects.errorWords("; ", p.before.rule.Root.Key)
	case p.after == nil && ofBefore == hidden:
		return fmt.Sprintf("the host %s is more specific than %s, which has %s, and none of its rules takes the requests", t.views[1].Domain, t.views[0].Domain, a.Words())
	case p.after == nil:
		return t.beforeWords(p.before, ofBefore) + ", and no other rule takes the requests"
	case p.before == nil:
		return t.afterWords(p.after, ofAfter)
	case ofBefore == unchanged && p.before.match == p.after.match:
		return fmt.Sprintf("%s now takes the requests of %s, which has the same match and comes later", b.Words(), a.Words())
	case ofBefore == absent && ofAfter == absent && t.isNew(p.after):
		return fmt.Sprintf("%s is new, in the place of %s, which is gone", b.Words(), a.Words())
	case ofBefore == hidden:
		return t.afterWords(p.after, ofAfter) + fmt.Sprintf("; the host %s is more specific than %s, which has %s", t.views[1].Domain, t.views[0].Domain, a.Words())
	case ofAfter == hidden:
		return t.beforeWords(p.before, ofBefore) + fmt.Sprintf("; the requests go to %s, which has %s", hostWords(t.views[1].Domain), b.Words())
	case ofBefore != unchanged && ofAfter != unchanged:
		return t.afterWords(p.after, ofAfter) + "; " + t.beforeWords(p.before, ofBefore)
	case ofBefore != unchanged:
		return fmt.Sprintf("%s; %s takes its requests", t.beforeWords(p.before, ofBefore), b.Words())
	}
	why := ""
	if behind := t.indexes[1].counterpart(p.before); behind != nil {
		why = ": " + route.Why(p.after.rule, behind.rule)
	}
	if ofAfter == unchanged {
		return fmt.Sprintf("%s now comes before %s%s", b.Words(), a.Words(), why)
	}
	return fmt.Sprintf("%s, and comes before %s%s", t.afterWords(p.after, ofAfter), a.Words(), why)
}

// hostWords returns the hosts of a virtual host, in words.
func hostWords(domain string) string {
	if domain == "*" {
		return "every other host"
	}
	return "the host " + domain
}

// afterWords returns the text that explains why a rule now gets requests that another rule got before. The parameter
// e is the entry of the rule in the new configuration (after). The parameter outcome is the result of
// outcomeOfRule for e: for example, the constant absent if the old configuration does not have the rule.
func (t *takeovers) afterWords(e *entry, outcome ruleOutcome) string {
	name := ruleOf(e).Words()
	switch outcome {
	case edited:
		_, old := t.outcomeOfRule(1, e)
		return fmt.Sprintf("the match of %s changed: %s; before: %s", name, explain.RuleWords(e.rule), explain.RuleWords(old))
	case moved:
		return fmt.Sprintf("%s serves the host now: %s changed", name, t.whatMoves(e))
	case hidden, unchanged:
		return name + " takes the requests"
	}
	source, root := e.rule.Source.Key, e.rule.Root.Key
	switch {
	case t.objects.wasMistaken(source) != "":
		return fmt.Sprintf("%s is used now; before, %s had an error (%s)", name, source, t.objects.wasMistaken(source))
	case t.isNew(e):
		return name + " is new"
	case root != source:
		return name + " is reached now: " + t.objects.gainedParent(root)
	}
	return name + " is attached now: " + t.objects.attachment(t.key.gateway)
}

// isNew reports whether a rule that the old configuration lacks is new in the user's files: its route is new or changed.
// Otherwise the route is as before, and something else, such as a parent, brings the rule.
func (t *takeovers) isNew(e *entry) bool {
	kind := t.objects.kinds[e.rule.Source.Key]
	return kind == Added || kind == Changed
}

// beforeWords returns the text that explains why a rule no longer gets its requests. The parameter e is the entry of
// the rule in the old configuration (before). The parameter outcome is the result of outcomeOfRule for e: for
// example, the constant absent if the new configuration does not have the rule.
func (t *takeovers) beforeWords(e *entry, outcome ruleOutcome) string {
	name := ruleOf(e).Words()
	switch outcome {
	case edited:
		_, now := t.outcomeOfRule(0, e)
		return fmt.Sprintf("the match of %s changed: %s; before: %s", name, explain.RuleWords(now), explain.RuleWords(e.rule))
	case moved:
		return fmt.Sprintf("%s no longer serves the host: %s changed", name, t.whatMoves(e))
	case hidden, unchanged:
		return name + " comes later"
	}
	route, root := e.rule.Source.Key, e.rule.Root.Key
	if t.objects.kinds[route] == "" && root != route { // a delegated route that did not change
		return name + " is no longer reached: " + t.objects.lostParent(root)
	}
	if t.objects.mistakeOf(route) != "" {
		return name + " is not used" + t.objects.errorWords(", as ", route)
	}
	if t.objects.kinds[route] == "" {
		return name + " is no longer attached: " + t.objects.attachment(t.key.gateway)
	}
	return name + " is gone"
}

// whatMoves returns, in words, what changed so that the rule serves other hosts than before: fields of its own
// route, or its parents.
func (t *takeovers) whatMoves(e *entry) string {
	if t.objects.kinds[e.rule.Source.Key] == Changed {
		return "its hostnames or parentRefs"
	}
	return "its parents or their listeners"
}

// sameRule reports whether p.before and p.after are the same rule of one route, which may have been edited or
// moved. For rules of different routes, the result is false. Otherwise, the first case that applies decides:
//   - The two rules have the same name (the field name). Then they are the same.
//   - In the new configuration, a rule of the same route has the match of p.before. Then p.after must be that rule.
//   - In the old configuration, a rule of the same route had the match of p.after. Then p.before must be that rule.
//   - Otherwise, the two rules must have the same index in the route.
func (t *takeovers) sameRule(p pair) bool {
	a, b := ruleOf(p.before), ruleOf(p.after)
	if a.Object != b.Object {
		return false
	}
	if a.RuleName != "" && a.RuleName == b.RuleName {
		return true
	}
	if now := ruleOf(t.indexes[1].counterpart(p.before)); now != nil && now.Object == a.Object {
		return now.Rule == b.Rule
	}
	if old := ruleOf(t.indexes[0].counterpart(p.after)); old != nil && old.Object == b.Object {
		return old.Rule == a.Rule
	}
	return a.Rule == b.Rule
}
