package translate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// listDelegations returns what the ir.View shows about delegation: one ir.Delegation for each match that delegates
// (route.Point). The parameter nodes has the nodes that delegate (see flatKey). The parameter rejections has, by
// node, the routes that some matches of the node do not accept as children (see rejectedChild).
func listDelegations(nodes ordered.Set[delegating], rejections ordered.Set[rejectedBelow]) []ir.Delegation {
	var out []ir.Delegation
	rejected := map[flatKey]rejectedAt{}
	for below := range rejections.All() {
		rejected[below.flatKey] = rejectedAtPoints(below)
	}
	for node := range nodes.All() {
		at := rejected[keyOfChain(node.Points[0].Chain, node.port)]
		for _, point := range node.Points {
			to, names := selected(point)
			out = append(out, ir.Delegation{
				Port: node.port, Chain: point.Chain, Match: &point.Matcher, To: to, Names: names, NotAccepted: at.under(point),
			})
		}
	}
	return out
}

// keyOfChain returns the key of the node at the end of a chain of routes: the route of the last hop, with the
// routes of all other hops as its parents. The parameter port is the port of the node.
func keyOfChain(chain []ir.Hop, port int32) flatKey {
	key := flatKey{Route: chain[0].Route, Port: port}
	for _, hop := range chain[1:] {
		key = linkKey{Parent: key, Child: hop.Route}.child()
	}
	return key
}

// rejectedAt has the candidates (see linkKey) that one node (flatKey) does not accept as children, with the reasons.
// Each reason is in one of the fields. The method "under" looks up the candidates that one delegating match
// (route.Point) rejects.
type rejectedAt struct {
	// The field rules has the reasons about a whole rule of the node's route, by Point.At. The field points has the
	// reasons about single matches, by Point.Name.
	rules  map[string][]orderedReason
	points map[string][]orderedReason
	// anywhere has the reasons that name neither a rule nor a Point. Their candidates are accepted by no rule. The
	// method "under" returns them for each Point that has allowedRoutes.
	anywhere []orderedReason
}

// orderedReason is a reason why a delegating route (a node, see flatKey) does not accept a candidate as child. The
// field order is the position of the reason among the reasons of all candidates of that node.
type orderedReason struct {
	ir.NotAccepted
	order int
}

// rejectedAtPoints groups the rejected candidates of one node (below) by the part of the node's route that the
// rejection is about. So the method rejectedAt.under can look up the candidates that one delegating match
// (route.Point) rejects. The grouping must agree with rejectedChild.reasonUnder: under returns a candidate for a
// Point exactly if reasonUnder finds a reason for this Point.
func rejectedAtPoints(below rejectedBelow) rejectedAt {
	at := rejectedAt{map[string][]orderedReason{}, map[string][]orderedReason{}, nil}
	order := 0
	for one := range below.children.All() {
		for _, why := range one.Why {
			found := orderedReason{ir.NotAccepted{Route: one.Child, Why: fmt.Sprintf("%s: %s", why.Reason, why.Message), Minor: !one.matters(why)}, order}
			order++
			switch {
			case why.Rule != "":
				at.rules[why.Rule] = append(at.rules[why.Rule], found)
			case len(one.Points) == 0 && !one.Elsewhere:
				at.anywhere = append(at.anywhere, found)
			}
			for _, point := range one.Points {
				if why.Rule == "" {
					at.points[point] = append(at.points[point], found)
				}
			}
		}
	}
	return at
}

// under returns the candidates that a delegating match (point) does not accept as children, sorted by key. A
// candidate that is rejected for several reasons is listed once, with the first reason.
func (at rejectedAt) under(point *route.Point) (out []ir.NotAccepted) {
	all := slices.Concat(at.rules[point.At()], at.points[point.Name])
	if point.Allowed != nil {
		all = append(all, at.anywhere...)
	}
	slices.SortFunc(all, func(a, b orderedReason) int { return cmp.Or(manifest.CompareKeys(a.Route, b.Route), a.order-b.order) })
	for _, reason := range slices.CompactFunc(all, func(a, b orderedReason) bool { return a.Route == b.Route }) {
		out = append(out, reason.NotAccepted)
	}
	return out
}

// selected describes which routes a Point (a match that delegates) selects as children. The result texts has one
// text for each selector by name, namespace or label; equal texts are listed once. If the Point has no such
// selector, the only text is "HTTPRoutes that name it as parent". The result keys has the keys of the routes that
// the Point selects by name. These routes may not exist.
func selected(point *route.Point) (texts []string, keys []manifest.Key) {
	for _, s := range point.Selectors {
		words := ""
		switch s.Form {
		case route.ByName:
			key := routeKey(s.Namespace + "/" + s.Value)
			keys, words = append(keys, key), key.String()
		case route.ByNamespace:
			words = "HTTPRoutes of namespace " + s.Namespace
		case route.ByLabel:
			words = fmt.Sprintf("HTTPRoutes with the label %s of namespace %s", s.Value, s.Namespace)
			if s.Namespace == "" {
				words = fmt.Sprintf("HTTPRoutes with the label %s", s.Value)
			}
		default:
			continue
		}
		if !slices.Contains(texts, words) {
			texts = append(texts, words)
		}
	}
	if len(texts) == 0 {
		texts = []string{"HTTPRoutes that name it as parent"}
	}
	return texts, keys
}
