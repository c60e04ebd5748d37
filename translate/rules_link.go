package translate

import (
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

type linkIn struct {
	*namespaceRules
	*contestRules
	*wantRules
	flat     *memo.Rule[flatKey, *flatOut]
	routes   *servedRoutes
	MaxDepth int
}

// linkRules find the children of each node of a delegation tree (see flatKey). A link connects the node of a parent
// to a candidate child (linkKey). Its value (linkOut) has the rules of the parent that may delegate to the child.
type linkRules struct {
	in       linkIn
	points   *memo.Rule[flatKey, *pointsOut]
	pairs    *memo.Join[flatKey, manifest.Key, route.Property]
	link     *memo.Rule[linkKey, *linkOut]
	live     *memo.Fold[pointKey, flatKey, struct{}, int]
	rejected *memo.Fold[flatKey, rejectedChildKey, *rejectedChild, ordered.Set[*rejectedChild]]
}

func newLinkRules(e *memo.Engine, in linkIn) *linkRules {
	r := &linkRules{in: in}
	r.pairs = memo.NewJoin(in.wants, func(_ flatKey, wants []route.Property) []route.Property { return wants },
		in.routes, func(_ manifest.Key, o *manifest.Object) []route.Property { return route.Offers(o) }, route.Property.Named)
	r.points = memo.NewRule(e, "points", r.runPoints, deepEqual)
	r.link = memo.NewRule(e, "link", r.runLink, deepEqual)
	memo.EachOf(r.link, r.pairs, func(p memo.Pair[flatKey, manifest.Key], _ struct{}) []linkKey { return []linkKey{{p.Left, p.Right}} })
	memo.EachOf(in.flat, r.link, childOf)
	r.live = memo.NewFold[pointKey, flatKey](e, "live", count[flatKey], identical[int])
	memo.From(r.live, in.flat, livePoints, identical)

	r.rejected = memo.NewFold[flatKey, rejectedChildKey](e, "rejected", gather[rejectedChildKey](compareRejected), ordered.Set[*rejectedChild].Same)
	memo.From(r.rejected, r.link, rejectedLinks, deepEqual)
	memo.From(r.rejected, in.flat, rejectedNodes, deepEqual)
	return r
}

// runPoints returns the part of a node (see flatKey) that decides which children the node has (see pointsOut). The
// memo.Rule "link" reads this part of a parent's node once for each candidate child. If the node has no delegating
// rules, the result has only Hosts.
func (r *linkRules) runPoints(c *memo.Ctx, key flatKey) *pointsOut {
	flat := r.in.flat.Get(c, key)
	if len(flat.Points) == 0 {
		return &pointsOut{Hosts: flat.Hosts}
	}
	return &pointsOut{flat.Points, flat.Hosts, flat.Schemes, r.in.overBudget(c, key).closed()}
}

// childOf returns the node (flatKey) that a candidate child has below the node of its parent. The result is a list of
// one key. The parameter key has the parent's node and the candidate. If no rule of the parent accepts the candidate,
// the candidate has no such node, and childOf returns nil.
func childOf(key linkKey, l *linkOut) []flatKey {
	if len(l.Links) == 0 {
		return nil
	}
	return []flatKey{key.child()}
}

// livePoints yields the members of the memo.Fold "live". For each delegating match (route.Point), this fold counts
// the child nodes (flatKey) that have rules below the match. The parameter key is one child node. livePoints yields
// one Place for each Point of the parent below which this child has rules. The Key of the Place has the Point, and
// the ID of the Place is the child node.
func livePoints(key flatKey, f *flatOut, yield func(memo.Place[pointKey, flatKey], struct{})) {
	for _, point := range f.Live {
		yield(memo.Place[pointKey, flatKey]{Key: pointKey{key.link().Parent, point}, ID: key}, struct{}{})
	}
}

// runLink returns which rules of a parent may delegate to a candidate child (Links), and why other rules of the
// parent may not (Rejections). If the link closes a cycle, makes a chain of more than Options.MaxDepth routes, or
// leaves no host (see narrow), the result has no Links, and one rejection with this reason. The result is empty in
// each of these cases:
//   - The candidate does not exist, or the parent has no delegating rules.
//   - The children in the candidate's namespace exceed the budget.
//   - The link closes a cycle only by accident: a rule of the parent selects the candidate by its namespace or label,
//     no rule selects it by name, and the candidate's parentRefs do not name the parent (route.Consents).
func (r *linkRules) runLink(c *memo.Ctx, key linkKey) *linkOut {
	object, ok := r.in.routes.Get(c, key.Child)
	parent := r.points.Get(c, key.Parent)
	if !ok || len(parent.Points) == 0 || parent.overBudget(key.Child.Namespace) {
		return &linkOut{}
	}
	out := &linkOut{Linked: route.LinkTo(key.Parent.Route, parent.Points, object, r.in.home(c, key.Child.Namespace, parent.Points[0].Rest.Source)), Hosts: parent.Hosts, Schemes: parent.Schemes}
	if !out.Concerned() {
		return out
	}
	if key.Parent.above(key.Child) {
		if !out.Named && !route.Consents(key.Parent.Route, object) {
			return &linkOut{} // a wildcard or label of the parent selects the parent itself, or a route above it that has other parents
		}
		out.Cycle = true
		return out.reject(route.BindingRejection{Reason: gwv1.RouteReasonRefNotPermitted, Message: "cyclic reference detected: " + key.Parent.path() + " leads back to " + key.Child.String(),
			Hint: "take the reference that closes the cycle out"})
	}
	if depth := strings.Count(key.Parent.path(), ">") + 2; depth > r.in.MaxDepth {
		return out.reject(route.BindingRejection{Reason: gwv1.RouteReasonUnsupportedValue, Message: fmt.Sprintf("more than %d routes stand above each other", r.in.MaxDepth),
			Hint: "delegate over fewer levels, or raise --max-delegation-depth"})
	}
	return r.narrow(c, key, object, out)
}

// narrow limits the hosts of a link (out) to the hosts of the child (GEP-1058, Hostname Settings) and to the
// hosts that the child's namespace may serve. If no host is left, narrow rejects the child. It modifies out and
// returns it.
func (r *linkRules) narrow(c *memo.Ctx, key linkKey, object *manifest.Object, out *linkOut) *linkOut {
	child := route.Read(object)
	bound, bounded := r.in.bindHosts(c, &child)
	if child.Hosts.Every() || len(out.Links) == 0 || out.Hosts.Every() && r.in.spans(c, key.Parent, child.Hosts) {
		return out
	}
	out.Hosts = listen.Narrow(out.Hosts, child.Hosts)
	switch tables, _ := r.in.tablesOf(c, key.Parent, out.Hosts); {
	case len(tables) > 0:
	case bounded:
		return out.reject(outOfBounds(key.Parent.Route, child.Hosts, bound))
	default:
		return out.reject(route.BindingRejection{Reason: gwv1.RouteReasonNoMatchingListenerHostname, Field: "spec.hostnames",
			Message: fmt.Sprintf("none of the hostnames %s is one of those that %s serves", strings.Join(child.Hostnames, ", "), key.Parent.Route),
			Hint:    "correct spec.hostnames of either route, or take them out of this one"})
	}
	return out
}
