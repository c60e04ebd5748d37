package plan

import (
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// routeMatch identifies a match of a route, independent of its position in the route. match is a matchKey.
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

// whereabouts says where the rules of one configuration (before or after) are. domains has the virtual hosts by
// route and match. named has the rules by the name of their Envoy route.
type whereabouts struct {
	domains map[routeMatch][]domainAt
	named   map[string]*ir.Rule
}

// rulesOf returns the whereabouts of a side (0 is before). The result is computed once.
func (c *comparison) rulesOf(side int) *whereabouts {
	if c.whereabouts[side] != nil {
		return c.whereabouts[side]
	}
	w := &whereabouts{domains: map[routeMatch][]domainAt{}, named: map[string]*ir.Rule{}}
	for key, port := range portsOf([2]Side{c.before, c.after}[side].View) {
		for i := range port.Hosts {
			host := &port.Hosts[i]
			for rule := range host.Rules {
				at := routeMatch{rule.Source.Key, matchKey(&rule.Match)}
				w.domains[at] = append(w.domains[at], domainAt{key, host.Chain, host.Domain})
				w.named[rule.Name] = rule
			}
		}
	}
	c.whereabouts[side] = w
	return w
}

// ruleOutcome is what became of a rule of one side on the other side.
type ruleOutcome uint8

const (
	unchanged ruleOutcome = iota
	absent                // the other side does not have the rule
	edited                // the other side has the rule with another match
	moved                 // the other side has the rule only for other hosts
	hidden                // the other side has the rule, but a virtual host with a more specific domain gets the requests
)

// outcomeOfRule returns what became of the rule of an entry of one side (0 is before) on the other side. For an
// edited rule it also returns the rule of the other side, and nil for any other outcome. A nil entry is unchanged.
func (h *hostPair) outcomeOfRule(side int, e *entry) (ruleOutcome, *ir.Rule) {
	other := 1 - side
	if e == nil || h.counterpart(other, e) != nil && h.counterpart(other, e).rule.Source.Key == e.rule.Source.Key {
		return unchanged, nil
	}
	there := h.rulesOf(other)
	if domains := there.domains[routeMatchOf(e)]; len(domains) > 0 {
		if view := h.views[side]; view != nil && slices.Contains(domains, domainAt{h.key, view.Chain, view.Domain}) {
			if h.views[other] == nil || h.views[other].Domain != view.Domain {
				return hidden, nil
			}
			return unchanged, nil // it comes after another rule with the same match
		}
		return moved, nil
	}
	one := there.named[e.rule.Name]
	if one == nil || one.Source.Key != e.rule.Source.Key || len(h.rulesOf(side).domains[routeMatch{one.Source.Key, matchKey(&one.Match)}]) > 0 {
		return absent, nil
	}
	return edited, one
}

// order returns the reason why another rule gets the requests of a pair.
func (h *hostPair) order(p pair) Reason {
	was, old := h.outcomeOfRule(0, p.before)
	is, _ := h.outcomeOfRule(1, p.after)
	text := h.orderWords(p, was, is)
	var at []Place
	if p.after != nil {
		at = append(at, h.outcomePlace(p.after, is, false))
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
		at = append(at, h.outcomePlace(p.before, was, was == absent && h.mistakeOf(p.before.rule.Source.Key) == ""))
	}
	return Reason{text, at}
}

// outcomePlace returns the place that explains the outcome of an entry's rule. If the rule is moved and its route
// changed, it is the field hostnames of the route. If the rule is absent because its route is invalid, it is the
// route. In all other cases it is the match of the rule. The parameter before says whether the place is in the
// configuration before.
func (h *hostPair) outcomePlace(e *entry, outcome ruleOutcome, before bool) Place {
	if route := e.rule.Source.Key; outcome == moved && h.objectKinds()[route] == Changed {
		return Place{Source: explain.Source{Object: route, Field: "spec.hostnames"}}
	} else if outcome == absent && !before && h.objectKinds()[route] == Removed {
		return Place{Source: explain.Source{Object: route}} // it is invalid
	}
	return placeOfRule(e, before)
}

// orderWords returns the text of the Reason of order. The parameters was and is are the outcomes of the
// rule before and of the rule after.
func (h *hostPair) orderWords(p pair, was, is ruleOutcome) string {
	if p.before != nil && p.after != nil && p.before.rule.Name == p.after.rule.Name && was == edited && is == edited {
		return h.afterWords(p, is)
	}
	a, b := ruleOf(p.before), ruleOf(p.after)
	switch {
	case p.after == nil && h.views[1] == nil:
		return fmt.Sprintf("no route serves the host any more; before, %s did", a.Words()) + h.errorWords("; ", p.before.rule.Root.Key)
	case p.after == nil:
		return h.beforeWords(p, was) + ", and no other rule takes the requests"
	case p.before == nil:
		return h.afterWords(p, is)
	case was == unchanged && p.before.match == p.after.match:
		return fmt.Sprintf("%s now takes the requests of %s, which has the same match and comes later", b.Words(), a.Words())
	case was == absent && is == absent:
		return fmt.Sprintf("%s is new, in the place of %s, which is gone", b.Words(), a.Words())
	case was == hidden:
		return h.afterWords(p, is) + fmt.Sprintf("; the host %s is more specific than %s, which has %s", h.views[1].Domain, h.views[0].Domain, a.Words())
	case is == hidden:
		return h.beforeWords(p, was) + fmt.Sprintf("; the requests go to %s, which has %s", hostWords(h.views[1].Domain), b.Words())
	case was != unchanged && is != unchanged:
		return h.afterWords(p, is) + "; " + h.beforeWords(p, was)
	case was != unchanged:
		return fmt.Sprintf("%s; %s takes its requests", h.beforeWords(p, was), b.Words())
	}
	why := ""
	if behind := h.counterpart(1, p.before); behind != nil {
		why = ": " + route.Why(p.after.rule, behind.rule)
	}
	if is == unchanged {
		return fmt.Sprintf("%s now comes before %s%s", b.Words(), a.Words(), why)
	}
	return fmt.Sprintf("%s, and comes before %s%s", h.afterWords(p, is), a.Words(), why)
}

// hostWords returns the hosts of a virtual host, in words.
func hostWords(domain string) string {
	if domain == "*" {
		return "every other host"
	}
	return "the host " + domain
}

// afterWords returns, in words, why the rule after gets the requests now.
func (h *hostPair) afterWords(p pair, is ruleOutcome) string {
	name := ruleOf(p.after).Words()
	switch is {
	case edited:
		_, old := h.outcomeOfRule(1, p.after)
		return fmt.Sprintf("the match of %s changed: %s; before: %s", name, explain.MatchWords(p.after.rule.Match), explain.MatchWords(old.Match))
	case moved:
		return fmt.Sprintf("%s serves the host now: %s changed", name, h.whatMoves(p.after))
	case hidden, unchanged:
		return name + " takes the requests"
	}
	return name + " is new"
}

// beforeWords returns, in words, why the rule before no longer gets the requests.
func (h *hostPair) beforeWords(p pair, was ruleOutcome) string {
	name := ruleOf(p.before).Words()
	switch was {
	case edited:
		_, now := h.outcomeOfRule(0, p.before)
		return fmt.Sprintf("the match of %s changed: %s; before: %s", name, explain.MatchWords(now.Match), explain.MatchWords(p.before.rule.Match))
	case moved:
		return fmt.Sprintf("%s no longer serves the host: %s changed", name, h.whatMoves(p.before))
	case hidden, unchanged:
		return name + " comes later"
	}
	route, root := p.before.rule.Source.Key, p.before.rule.Root.Key
	if h.objectKinds()[route] == "" && root != route { // a delegated route that did not change
		return name + " is no longer reached: " + h.lostParent(root)
	}
	if h.mistakeOf(route) != "" {
		return name + " is not used" + h.errorWords(", as ", route)
	}
	return name + " is gone"
}

// lostParent returns, in words, why a root no longer delegates to a child.
func (h *hostPair) lostParent(root manifest.Key) string {
	switch {
	case h.mistakeOf(root) != "":
		return h.errorWords("", root)
	case h.objectKinds()[root] == Removed:
		return root.String() + " is gone"
	case h.objectKinds()[root] == Changed:
		return root.String() + " changed"
	}
	return "its parents changed"
}

// errorWords returns a text about the error of an object whose newest version is invalid (see mistakeOf). The
// text begins with the parameter behind. It returns "" if the object has no error.
func (h *hostPair) errorWords(behind string, object manifest.Key) string {
	if mistake := h.mistakeOf(object); mistake != "" {
		return fmt.Sprintf("%s%s has an error (%s)", behind, object, mistake)
	}
	return ""
}

// whatMoves returns, in words, the fields whose change lets a rule serve other hosts.
func (h *hostPair) whatMoves(e *entry) string {
	if h.objectKinds()[e.rule.Source.Key] == Changed {
		return "its hostnames or parentRefs"
	}
	return "its parents or their listeners"
}

// counterpart returns the entry of a side with the same match. It returns nil if there is none.
func (h *hostPair) counterpart(side int, e *entry) *entry {
	if e.twin != nil {
		return e.twin
	}
	for _, other := range h.indexes[side].all(e.rule.Match.Path) {
		if other.match == e.match {
			return other
		}
	}
	return nil
}
