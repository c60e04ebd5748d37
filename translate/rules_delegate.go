package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// The tree below a root: a node is a route under one chain of parents (flatKey),
// a link is a parent's node and a candidate for a child. Nodes lead to links and
// links to nodes; a value is empty when what it hangs on is gone, so that a
// subtree whose root is taken away falls from the top.

// linkKey names a pair of a parent's node and a candidate.
type linkKey struct {
	Parent flatKey
	Child  manifest.Key
}

func (k linkKey) String() string { return k.Parent.String() + " → " + k.Child.String() }

// child gives the key of the child's node.
func (k linkKey) child() flatKey {
	return flatKey{Route: k.Child, Port: k.Parent.Port, Via: k.Parent.path()}
}

// path is the key's chain of routes, root first.
func (k flatKey) path() string {
	name := k.Route.Namespace + "/" + k.Route.Name
	if k.Via == "" {
		return name
	}
	return k.Via + ">" + name
}

// link gives the link that a child's node hangs on.
func (k flatKey) link() linkKey {
	via, last := "", k.Via
	if i := strings.LastIndexByte(k.Via, '>'); i >= 0 {
		via, last = k.Via[:i], k.Via[i+1:]
	}
	return linkKey{Parent: flatKey{Route: routeKey(last), Port: k.Port, Via: via}, Child: k.Route}
}

// root gives the route at the top.
func (k flatKey) root() manifest.Key {
	if k.Via == "" {
		return k.Route
	}
	name, _, _ := strings.Cut(k.Via, ">")
	return routeKey(name)
}

// routeKey gives the key of the HTTPRoute "namespace/name".
func routeKey(name string) manifest.Key {
	namespace, name, _ := strings.Cut(name, "/")
	return manifest.Key{Group: gwv1.GroupName, Kind: "HTTPRoute", Namespace: namespace, Name: name}
}

// pointsOut is what links read of a node, so that an edit of the node's other
// rules does not reach its children.
type pointsOut struct {
	Points []*route.Point
	Hosts  ir.Hosts
	// Closed tells whether children of a namespace are over the budget; "" stands for those
	// that it does not have.
	Closed map[string]bool
}

// shuts reports whether children of the namespace are over the budget, so that their
// links fall, which their nodes hold.
func (out *pointsOut) shuts(namespace string) bool {
	if closed, ok := out.Closed[namespace]; ok {
		return closed
	}
	return out.Closed[""]
}

// linkOut is what a pair has come to.
type linkOut struct {
	route.Linked
	// Hosts are those of the root that the child serves.
	Hosts ir.Hosts
	// Cycle tells that the child stands above itself.
	Cycle bool
}

// graftOut is what a node adds to the tables of its root.
type graftOut struct {
	Tables   []tableKey
	Entries  []*entry
	Backends []*backend.Key
	// Uses tells what became of policies at the rules of a child.
	Uses []policy.Use
	// Unresolved says what the route's own rules hand requests to in vain.
	Unresolved manifest.Verdict[gwv1.RouteConditionReason]
	// Beside tells of routes that are refused under rules that others stand under.
	Beside   []string
	Problems []manifest.Problem
	placed   placed
}

// pointKey names a Point of a node.
type pointKey struct {
	Node  flatKey
	Point string
}

// bindingOut is what a child has come to under one parent, below one chain. The
// entries of its status are made from it.
type bindingOut struct {
	Parent manifest.Key
	// Named tells that a rule of the parent names the child.
	Named bool
	// Sections are the names of the parent's rules that it stands under, "" for
	// one without.
	Sections []string
	Refused  []route.Refusal
	Resolved manifest.Verdict[gwv1.RouteConditionReason]
	// Missed are matches that do not stand here; Unsupported says what else of
	// those that do is not served as written.
	Missed      []route.Miss
	Unsupported []string
}

func (n *network) declareDelegation(e *memo.Engine) {
	pairs := memo.NewJoin(n.wants, func(_ flatKey, wants []route.Property) []route.Property { return wants },
		n.in.routes, func(_ manifest.Key, o *manifest.Object) []route.Property { return route.Offers(o) }, route.Property.Named)
	n.points = memo.NewRule(e, "points", func(c *memo.Ctx, key flatKey) *pointsOut {
		flat := n.flat.Get(c, key)
		if len(flat.Points) == 0 {
			return &pointsOut{Hosts: flat.Hosts}
		}
		return &pointsOut{flat.Points, flat.Hosts, n.overBudget(c, key).closed()}
	}, deepEqual)
	n.link = memo.NewRule(e, "link", n.runLink, deepEqual)
	memo.EachOf(n.link, pairs, func(p memo.Pair[flatKey, manifest.Key], _ struct{}) []linkKey { return []linkKey{{p.Left, p.Right}} })
	memo.EachOf(n.flat, n.link, childOf)
	n.live = memo.NewFold[pointKey, flatKey](e, "live", count[flatKey], identical[int])
	memo.From(n.live, n.flat, livePoints, identical)

	n.refused = memo.NewFold[flatKey, refusalKey](e, "refused", gather[refusalKey](compareRefusals), memo.Ordered[*refusal].Same)
	memo.From(n.refused, n.link, refusedLinks, deepEqual)
	memo.From(n.refused, n.flat, refusedNodes, deepEqual)

	n.graft = memo.NewRule(e, "graft", n.runGraft, deepEqual)
	memo.EachOf(n.graft, n.flat, ifDelegating)
	memo.EachOf(n.graft, n.link, childOf)

	n.binding = memo.NewRule(e, "binding", n.runBinding, deepEqual)
	memo.EachOf(n.binding, pairs, func(p memo.Pair[flatKey, manifest.Key], _ struct{}) []linkKey { return []linkKey{{p.Left, p.Right}} })
	n.bindings = memo.NewFold[manifest.Key, linkKey](e, "bindings", gather[linkKey](compareBindings), memo.Ordered[*bindingOf].Same)
	memo.From(n.bindings, n.binding, func(key linkKey, b *bindingOut, yield func(memo.Place[manifest.Key, linkKey], *bindingOf)) {
		if b != nil {
			yield(memo.Place[manifest.Key, linkKey]{Key: key.Child, ID: key}, &bindingOf{key, b})
		}
	}, deepEqual)
}

// childOf names the node of a child that has links.
func childOf(key linkKey, l *linkOut) []flatKey {
	if len(l.Links) == 0 {
		return nil
	}
	return []flatKey{key.child()}
}

// bindingOf is a binding with its key, as the fold of a child keeps it.
type bindingOf struct {
	key linkKey
	*bindingOut
}

func compareBindings(a, b *bindingOf) int {
	return cmp.Or(manifest.CompareKeys(a.Parent, b.Parent), cmp.Compare(a.key.Parent.Port, b.key.Parent.Port), cmp.Compare(a.key.Parent.Via, b.key.Parent.Via))
}

// livePoints names the parent's Points that a child's rules stand under.
func livePoints(key flatKey, f *flatOut, yield func(memo.Place[pointKey, flatKey], struct{})) {
	for _, point := range f.Live {
		yield(memo.Place[pointKey, flatKey]{Key: pointKey{key.link().Parent, point}, ID: key}, struct{}{})
	}
}

func (n *network) runLink(c *memo.Ctx, key linkKey) *linkOut {
	object, ok := n.in.routes.Get(c, key.Child)
	parent := n.points.Get(c, key.Parent)
	if !ok || len(parent.Points) == 0 || parent.shuts(key.Child.Namespace) {
		return &linkOut{}
	}
	out := &linkOut{Linked: route.LinkTo(key.Parent.Route, parent.Points, object, n.namespaceLabels(c, key.Child.Namespace)), Hosts: parent.Hosts}
	if key.Parent.above(key.Child) {
		if !out.Named && !route.Consents(key.Parent.Route, object) {
			return &linkOut{} // a wildcard or a label finds the route itself, or one above it, which other parents have
		}
		out.Cycle = true
		return out.refuse(route.Refusal{Reason: gwv1.RouteReasonRefNotPermitted, Message: "cyclic reference detected: " + key.Parent.path() + " leads back to " + key.Child.String(),
			Hint: "take the reference that closes the cycle out"})
	}
	if depth := strings.Count(key.Parent.path(), ">") + 2; depth > n.MaxDepth {
		return out.refuse(route.Refusal{Reason: gwv1.RouteReasonUnsupportedValue, Message: fmt.Sprintf("more than %d routes stand above each other", n.MaxDepth),
			Hint: "delegate over fewer levels, or raise --max-delegation-depth"})
	}
	return n.narrow(c, key, object, out)
}

// refuse takes all links away, for one reason.
func (out *linkOut) refuse(why route.Refusal) *linkOut {
	out.Links, out.Refused = nil, []route.Refusal{why}
	return out
}

// above tells whether the route stands on the chain of the node, itself
// included.
func (k flatKey) above(route manifest.Key) bool {
	return slices.Contains(strings.Split(k.path(), ">"), route.Namespace+"/"+route.Name)
}

// narrow intersects the hosts of the parent with those of an included child (GEP-1058,
// Hostname Settings), and with those that the namespace of the child may serve.
func (n *network) narrow(c *memo.Ctx, key linkKey, object *manifest.Object, out *linkOut) *linkOut {
	child := route.Read(object)
	bound, bounded := n.bindHosts(c, &child)
	if child.Hosts.Every() || len(out.Links) == 0 || out.Hosts.Every() && n.spans(c, key.Parent, child.Hosts) {
		return out
	}
	out.Hosts = listen.Narrow(out.Hosts, child.Hosts)
	switch tables, _ := n.tablesOf(c, key.Parent, out.Hosts); {
	case len(tables) > 0:
	case bounded:
		return out.refuse(outOfBounds(key.Parent.Route, child.Hosts, bound))
	default:
		return out.refuse(route.Refusal{Reason: gwv1.RouteReasonNoMatchingListenerHostname, Field: "spec.hostnames",
			Message: fmt.Sprintf("none of the hostnames %s is one of those that %s serves", strings.Join(child.Hostnames, ", "), key.Parent.Route),
			Hint:    "correct spec.hostnames of either route, or take them out of this one"})
	}
	return out
}

// spans tells whether hosts hold all that the node's root serves on its port.
func (n *network) spans(c *memo.Ctx, key flatKey, hosts ir.Hosts) bool {
	return !slices.ContainsFunc(n.admitted.Get(c, key.root()).Parents, func(p parentOut) bool {
		places := slices.DeleteFunc(slices.Clone(p.Places), func(p listen.Place) bool { return p.Port != key.Port })
		return !listen.Spans(hosts, places)
	})
}

// runGraft joins a node to the places of its root.
func (n *network) runGraft(c *memo.Ctx, key flatKey) *graftOut {
	flat := n.flat.Get(c, key)
	tables, guests := n.tablesOf(c, key, flat.Hosts)
	out := &graftOut{Tables: append(tables, guests...)}
	if _, cut := n.overload.Get(c, struct{}{})[key.root()]; cut {
		out.Tables = nil
	}
	if key.Via != "" {
		out.Entries, out.Backends = slices.Clone(flat.Entries), flat.Backends
		out.Uses = flat.Uses
	}
	budgets := n.overBudget(c, key)
	for _, point := range flat.Points {
		found, over := n.searchOf(c, key, point), n.overPoint(c, key, point, budgets)
		if over != nil {
			out.tooMany(point, over)
		} else {
			out.complain(found)
		}
		if found.live > 0 && found.missing == "" && over == nil && !point.Guarded {
			continue
		}
		e, problems := flat.encode(point.Rest)
		if out.Problems = append(out.Problems, problems...); e != nil {
			out.Entries = append(out.Entries, e)
		}
	}
	out.placed = n.place(c, key.Route, func(yield func(tableKey, []*entry) bool) {
		for _, table := range out.Tables {
			if !yield(table, out.Entries) {
				return
			}
		}
	})
	return out
}

// resolved says whether the node's own rules hand requests to somebody; its
// message tells who is left out of those that do.
func (out *graftOut) resolved() manifest.Verdict[gwv1.RouteConditionReason] {
	verdict := out.Unresolved
	if beside := route.Several(out.Beside); verdict.Good() {
		verdict.Message = beside
	} else if beside != "" {
		verdict.Message += "; " + beside
	}
	return verdict
}

// tablesOf gives the tables of a node's root on its port that hold some of the
// hosts. A narrower table of such a host is there when another route or a
// listener claims it: then the node is its guest. A child takes no host away
// from the others of its root.
func (n *network) tablesOf(c *memo.Ctx, key flatKey, hosts ir.Hosts) (tables, guests []tableKey) {
	for _, parent := range n.admitted.Get(c, key.root()).Parents {
		held, narrower := parent.Places, []listen.Place(nil)
		if !hosts.Every() {
			if g := n.gateway.Get(c, ir.GatewayKey(parent.Gateway)); g != nil {
				held, narrower = g.Within(held, hosts)
			}
		}
		tables = appendTables(tables, key.Port, parent.Gateway, held)
		guests = appendTables(guests, key.Port, parent.Gateway, narrower)
	}
	return tables, slices.DeleteFunc(guests, func(t tableKey) bool { return slices.Contains(tables, t) })
}

func appendTables(out []tableKey, port int32, gateway string, places []listen.Place) []tableKey {
	for _, place := range places {
		table := tableOf(gateway, place)
		if place.Port == port && !slices.Contains(out, table) {
			out = append(out, table)
		}
	}
	return out
}

// runBinding gives the child's status for one parent; nil for a parent that
// never asked for it, as a wildcard does of a root.
func (n *network) runBinding(c *memo.Ctx, key linkKey) *bindingOut {
	link := n.link.Get(c, key)
	out := &bindingOut{Parent: key.Parent.Route, Named: link.Named, Refused: link.Refused}
	if len(link.Links) == 0 {
		if len(link.Refused) == 0 {
			return nil
		}
		return out
	}
	flat := n.flat.Get(c, key.child())
	if why := flat.refusal(); why.Reason != "" {
		out.Refused = append(slices.Clone(out.Refused), why)
	}
	if flat.stands() {
		out.Sections = link.Sections(setOf(flat.Live))
		out.Missed, out.Unsupported = flat.Missed, flat.Unsupported
	}
	out.Resolved = flat.unresolved()
	if len(flat.Points) > 0 {
		out.Resolved = out.Resolved.And(n.graft.Get(c, key.child()).resolved())
	}
	return out
}
