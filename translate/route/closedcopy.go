package route

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// ClosedMatch is what can be read of a match.
type ClosedMatch struct {
	// Match has the parts that can be read. Place is the match by which a rule with Match has its place in the order.
	Match, Place ir.Match
	// Whole is true if all of the match can be read, and Left is false if nothing of it can.
	Whole, Left bool
}

// namedMatches are the matches of a rule, with its name. The list is empty if no match of the rule can be read.
type namedMatches struct {
	section string
	list    []ir.Match
}

// namedMatchesOf returns the matches of each rule of an HTTPRoute or GRPCRoute. A rule of a closed copy whose list of matches
// is empty, and not nil, has matches that cannot be read.
func namedMatchesOf(object *manifest.Object) (out []namedMatches) {
	switch route := object.Value.(type) {
	case *api.HTTPRoute:
		for _, rule := range route.Spec.Rules {
			one := namedMatches{section: Section(rule.Name)}
			if rule.Matches == nil || len(rule.Matches) > 0 || object.Closed == nil {
				one.list = httpMatches(rule.Matches)
			}
			out = append(out, one)
		}
	case *gwv1.GRPCRoute:
		for _, rule := range route.Spec.Rules {
			one := namedMatches{section: Section(rule.Name)}
			if rule.Matches == nil || len(rule.Matches) > 0 || object.Closed == nil {
				one.list = grpcMatches(rule.Matches)
			}
			out = append(out, one)
		}
	}
	return out
}

// Matches returns the matches of all rules of an HTTPRoute or GRPCRoute, in their order.
func Matches(object *manifest.Object) (out []ir.Match) {
	for _, rule := range namedMatchesOf(object) {
		out = append(out, rule.list...)
	}
	return out
}

// FlattenClosed returns the rules of a closed copy for one port: they have the matches of the route, as far as the
// parameter read can read them, and answer 500. It does not look at filters, backendRefs and links to children. A rule
// of which no match is left answers what nothing else of its hosts does, or what a parent hands to the route.
func FlattenClosed(object *manifest.Object, setting Setting, read func(ir.Match) ClosedMatch) *Flat {
	b := newBuilder(object, setting, nil)
	if b.hosts.None() {
		return b.flat
	}
	b.links = setting.Links
	b.grpc = object.Key.Kind == "GRPCRoute"
	if !b.grpc {
		b.readWeight(setting.Weighted)
	}
	b.blocks = setting.Weighted && setting.Siblings
	for i, rule := range namedMatchesOf(object) {
		b.closedRule(i, rule, read)
		b.flat.Closed = append(b.flat.Closed, i)
	}
	b.flat.Problems = nil
	return b.flat
}

// closedRule adds the rules for the matches of the rule with index i.
func (b *builder) closedRule(i int, rule namedMatches, read func(ir.Match) ClosedMatch) {
	placed, whole, root := map[*Link]bool{}, len(rule.list) > 0, false
	for j, match := range rule.list {
		one := read(match)
		if whole = whole && one.Whole; !one.Left {
			continue
		}
		own := place{rule: i, match: j, section: rule.section, matcher: one.Match}
		if b.links == nil && match.Path.Kind != ir.PathPostfix {
			b.addClosed(own, one.Place, b.weight)
			root = true
		}
		for k := range b.links {
			link := &b.links[k]
			combined, refused := Combine(*link, one.Match)
			if refused != "" {
				continue
			}
			at, refused := Combine(*link, one.Place)
			if refused != "" {
				at = combined
			}
			own.matcher, own.link, placed[link] = combined, link, true
			b.addClosed(own, at, b.weight)
		}
	}
	all := ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/", RPC: ir.RPC{Is: b.grpc}}}
	if b.links == nil && !root {
		b.addClosed(place{rule: i, section: rule.section, matcher: all}, all, WeightOfClosed)
	}
	for k := range b.links {
		if link := &b.links[k]; !placed[link] && !whole {
			b.addClosed(place{rule: i, section: rule.section, matcher: link.Point.Matcher, link: link}, link.Point.Matcher, b.weight)
		}
	}
}

// addClosed adds the rule for one match. The parameter at is the match by which it has its place in the order.
func (b *builder) addClosed(p place, at ir.Match, weight int32) {
	if p.link != nil {
		b.placeUnder(p.link.Point)
	}
	rule := b.newRule(p, ir.Action{})
	at.Hosts = rule.Match.Hosts
	rule.Weight, rule.Closed, rule.Action = weight, &at, ir.Action{Respond: b.closed()}
	b.flat.Rules = append(b.flat.Rules, rule)
}
