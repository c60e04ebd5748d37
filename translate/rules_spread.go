package translate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// A match of a route is in every virtual host of every port that its route serves on. Each copy contains
// everything that its rule and its policies add. A few routes with 16 hostnames can become a million routes of
// Envoy. So the cost of copies is computed before they are built (route.Load). For each match, a cost of freeTables
// is free. All namespaces have equal shares of the rest, Options.MaxCopies. A namespace that needs less
// than its share leaves the rest of it to the others.
//
// If a namespace needs more than its share, its routes with the lowest cost are served. The hosts of its other
// routes answer 500. Each such host has one rule, which also counts. Without the rule, a host would answer 404,
// or a wider host would get the requests. All this has no effect while the total cost is at most MaxCopies.
//
// A route below others is counted in the virtual hosts of each root above it, because namespaces can share a
// root. The rules of the route are built before they are counted, within the limits of rules_budget.go. The
// copies of the rules are built later.

// reach says how far the rules of a root route spread. Tables is the number of virtual hosts that contain the
// rules, and Ports is the number of their ports. The cost of a delegated route is computed from this value and not
// from the root itself. So an edit of the root that does not change the reach needs no new computation.
type reach struct {
	Tables, Ports int
	// Team is true if a team and not the operator wrote the root: --cluster-paths is set and does not name the
	// root's file (manifest.OtherFile). The costs of all routes below the root are then charged to the root's
	// namespace.
	Team bool
}

// below is what one delegated route adds to each virtual host of a root: the number of rules, and the cost of
// these rules. Both are sums over all ports of the root, and over all chains of parents.
type below struct{ Rules, Cost int }

type spreadIn struct {
	overtried *memo.Fold[struct{}, overtried, overtried, ordered.Set[overtried]]
	level     *memo.Rule[listenerKey, *hostLevel]
	policed   *memo.Rule[string, bool]
	*policyRules
	breadth   *memo.Fold[listenerKey, tableKey, struct{}, int]
	streams   *memo.Fold[listenerKey, streamAt, struct{}, int]
	admitted  *memo.Rule[manifest.Key, *attachOut]
	flat      *memo.Rule[flatKey, *flatOut]
	gateway   *memo.Rule[manifest.Key, *listen.Gateway]
	routes    *servedRoutes
	MaxCopies int
}

// spreadRules limit the cost of the copies in virtual hosts (see copies). A match of a route has a copy in each
// virtual host of the route. A policy of a Gateway or listener has a copy in each virtual host of the listeners.
type spreadRules struct {
	in       spreadIn
	below    *memo.Fold[shareKey, flatKey, below, below]
	reach    *memo.Rule[manifest.Key, reach]
	alone    *memo.Rule[manifest.Key, copies]                         // copies of each root route's own rules
	under    *memo.Rule[shareKey, copies]                             // copies of delegated routes' rules, by root
	loud     *memo.Fold[struct{}, struct{}, spreadTotal, spreadTotal] // all shares; empty if they fit in MaxCopies
	overload *memo.Rule[struct{}, *overloads]
}

func newSpreadRules(e *memo.Engine, in spreadIn) *spreadRules {
	r := &spreadRules{in: in}
	r.below = memo.NewFold[shareKey, flatKey](e, "below", addBelow, identical[below])
	memo.From(r.below, in.flat, func(key flatKey, f *flatOut, yield func(memo.Place[shareKey, flatKey], below)) {
		if key.Via != "" {
			yield(memo.Place[shareKey, flatKey]{Key: shareKey{key.root(), key.Route}, ID: key}, f.below())
		}
	}, identical)
	r.reach = memo.NewRule(e, "reach", r.runReach, identical[reach])
	r.alone = memo.NewRule(e, "alone", r.runAlone, identical[copies])
	memo.Each(r.alone, in.routes)
	r.under = memo.NewRule(e, "under", r.runUnder, identical[copies])
	memo.Each(r.under, r.below)
	total := memo.NewFold[struct{}, shareKey](e, "total", addTotal, sameTotal)
	memo.From(total, r.alone, shareOfRoute, identical)
	memo.From(total, r.under, shareOf, identical)
	hosts := memo.NewRule(e, "hostshare", r.runHostShare, identical[share])
	memo.EachOf(hosts, in.gateway, listenersOf)
	carried := memo.NewFold[manifest.Key, listenerKey](e, "carried", addHostShares, identical[share])
	memo.From(carried, hosts, func(key listenerKey, s share, yield func(memo.Place[manifest.Key, listenerKey], share)) {
		if s.extra() > 0 {
			yield(memo.Place[manifest.Key, listenerKey]{Key: s.Key.Root, ID: key}, s)
		}
	}, identical)
	memo.From(total, carried, func(_ manifest.Key, s share, yield func(memo.Place[struct{}, shareKey], share)) {
		yield(memo.Place[struct{}, shareKey]{ID: s.Key}, s)
	}, identical)
	// In most folders the total is below the limit. Then the fold loud is empty, and no rule reads the total.
	r.loud = memo.NewFold[struct{}, struct{}](e, "loud", func(_ spreadTotal, members []memo.Member[struct{}, spreadTotal]) spreadTotal {
		return members[len(members)-1].New
	}, sameTotal)
	memo.From(r.loud, total, func(_ struct{}, all spreadTotal, yield func(memo.Place[struct{}, struct{}], spreadTotal)) {
		if all.Extra > in.MaxCopies {
			yield(memo.Place[struct{}, struct{}]{}, all)
		}
	}, sameTotal)
	r.overload = memo.NewRule(e, "overload", r.runOverload, deepEqual)
	return r
}

func (r *spreadRules) report(all *problemFold) {
	problemsFrom(all, "overload", r.overload, (*overloads).problems)
}

// below returns the number and the cost of the rules that a node (see flatKey) adds to each virtual host of its
// root, on the port of the node.
func (f *flatOut) below() below {
	out := below{Rules: len(f.Entries) + len(f.Points), Cost: len(f.Points)}
	for _, e := range f.Entries {
		out.Cost += route.RuleCost(e.Rule, len(e.Encoded))
	}
	return out
}

// addBelow updates a value of the memo.Fold spreadRules.below after members changed. The parameter sum is the old
// value. addBelow adds the new members to it, subtracts the removed ones, and returns the result.
func addBelow(sum below, members []memo.Member[flatKey, below]) below {
	for _, m := range members {
		sum.Rules += m.New.Rules - m.Old.Rules
		sum.Cost += m.New.Cost - m.Old.Cost
	}
	return sum
}

// runReach returns the number of virtual hosts and ports of a route that attaches to listeners. It is zero if
// the route does not exist.
func (r *spreadRules) runReach(c *memo.Ctx, key manifest.Key) reach {
	object, ok := r.in.routes.Get(c, key)
	attach := r.in.admitted.Get(c, key)
	if !ok {
		return reach{}
	}
	return reach{Tables: attach.tables(), Ports: len(attach.Ports), Team: object.Source == manifest.OtherFile}
}

// runAlone returns how many virtual hosts contain the own rules of a root route, and what that costs (see copies).
// It computes the cost without building the rules. The result is zero for a route that is in no virtual host.
func (r *spreadRules) runAlone(c *memo.Ctx, key manifest.Key) copies {
	object, ok := r.in.routes.Get(c, key)
	tables := r.in.admitted.Get(c, key).tables()
	if !ok || tables == 0 {
		return copies{}
	}
	return newCopies(key.Namespace, tables, r.in.loadOf(c, object))
}

// runUnder returns how many virtual hosts of one root contain the rules of a delegated route, and what that costs
// (see copies).
func (r *spreadRules) runUnder(c *memo.Ctx, key shareKey) copies {
	owner := key.Root.Namespace
	root := r.reach.Get(c, key.Root)
	if key.Child.Namespace != owner && !root.Team {
		owner += ">" + key.Child.Namespace
	}
	sum, _ := r.below.Get(c, key)
	return newCopies(owner, root.Tables, route.Load{Matches: sum.Rules / max(1, root.Ports), Made: sum.Cost / max(1, root.Ports)})
}

// shareOfRoute yields a share that consists of a route's key and its copies if the copies cost more than is free:
// c.Cost is above c.Free (see copies). Otherwise it yields nothing.
func shareOfRoute(key manifest.Key, c copies, yield func(memo.Place[struct{}, shareKey], share)) {
	shareOf(shareKey{Root: key}, c, yield)
}

// shareOf yields a share that consists of the given key and copies if the copies cost more than is free: c.Cost is
// above c.Free (see copies). Otherwise it yields nothing.
func shareOf(key shareKey, c copies, yield func(memo.Place[struct{}, shareKey], share)) {
	if c.extra() > 0 {
		yield(memo.Place[struct{}, shareKey]{ID: key}, share{key, c})
	}
}

// listenersOf returns the keys of those listeners of the Gateway g that can be configured in Envoy
// (Listener.Serves). It returns nil if g is nil.
func listenersOf(_ manifest.Key, g *listen.Gateway) (keys []listenerKey) {
	if g == nil {
		return nil
	}
	for _, l := range g.Listeners {
		if l.Serves() {
			keys = append(keys, listenerKey{g.Name, l.ID()})
		}
	}
	return keys
}

// runHostShare returns a share for a listener (see the types share and copies). The share has the cost of what all
// policies of the listener together add to its virtual hosts. The cost is computed without building the virtual
// hosts. The share's Key names only one of these policies, the one with the most expensive field
// (hostLevel.Heaviest). If the policies together cost at most freeUnits in each virtual host, the share is zero.
func (r *spreadRules) runHostShare(c *memo.Ctx, key listenerKey) share {
	if !r.in.policed.Get(c, key.Gateway) {
		return share{}
	}
	level := r.in.level.Get(c, key)
	if level.Units <= freeUnits {
		return share{}
	}
	hosts, _ := r.in.breadth.Get(c, key)
	streams, _ := r.in.streams.Get(c, key)
	hosts += streams
	return share{shareKey{Root: level.Heaviest}, copies{
		Owner: level.Heaviest.Namespace, Tables: hosts, Cost: hosts * level.Units, Free: hosts * freeUnits,
	}}
}

// addHostShares updates the memo.Fold named "carried", which has one sum for each policy: the sum of the shares in
// which listeners name this policy (see runHostShare). The parameter sum is the old sum. The parameter members has
// the shares that changed, each of one listener. addHostShares returns the new sum.
func addHostShares(sum share, members []memo.Member[listenerKey, share]) share {
	for _, m := range members {
		if m.Has {
			sum.Key, sum.Owner = m.New.Key, m.New.Owner
		}
		sum.Tables += m.New.Tables - m.Old.Tables
		sum.Cost += m.New.Cost - m.Old.Cost
		sum.Free += m.New.Free - m.Old.Free
	}
	return sum
}

// addTotal updates the value of the memo.Fold named "total" or "width" after shares changed, and returns the new
// value. The parameter t is the old value. addTotal adds the new shares, removes the old ones, and adjusts t.Extra.
func addTotal(t spreadTotal, members []memo.Member[shareKey, share]) spreadTotal {
	if t.Shares.Len() == 0 {
		t.Shares = ordered.New(compareShares)
	}
	for _, m := range members {
		t.Extra += m.New.extra() - m.Old.extra()
		if m.Had {
			t.Shares = t.Shares.Delete(m.Old)
		}
		if m.Has {
			t.Shares = t.Shares.Insert(m.New)
		}
	}
	return t
}

// runOverload returns the routes and policies whose copies (see copies) do not fit into Options.MaxCopies. The
// result also has the delegating rules (route.Point) that select one of these routes as child. If the total
// cost of all copies fits, the result is empty.
func (r *spreadRules) runOverload(c *memo.Ctx, _ struct{}) *overloads {
	all, _ := r.loud.Get(c, struct{}{})
	out := &overloads{Cut: all.cut(r.in.MaxCopies), Closed: map[closedKey]bool{}, Warned: map[shareKey]overload{}}
	tried, _ := r.in.overtried.Get(c, struct{}{})
	out.addTried(tried)
	for key, over := range out.Cut {
		if key.Root.Kind == trafficPolicyKind().Kind {
			over.Field = r.in.heaviestField(c, key.Root)
			out.Cut[key] = over
		}
		if child, ok := r.in.routes.Get(c, key.Child); ok {
			for _, property := range route.Offers(child) {
				out.Closed[closedKey{key.Root, property}] = true
			}
		}
	}
	return out
}

// where returns at which listeners a route attaches. If the route does not have too many copies (see copies), the
// result attach is the value of in.admitted, and the result closed is nil. If the route has too many copies, none of
// its own rules are served:
//   - The result attach differs from in.admitted: each parentRef that accepted the route now rejects it.
//   - The result closed has one rule in place of the route's own rules. It answers 500 in the route's virtual hosts.
//
// If even this one rule exceeds the limit, the result closed is nil, and the result attach has no virtual hosts. The
// same is true for a TCPRoute, TLSRoute or UDPRoute with too many copies.
func (r *spreadRules) where(c *memo.Ctx, key manifest.Key) (attach *attachOut, closed *flatOut) {
	attach = r.in.admitted.Get(c, key)
	over, cut := r.overload.Get(c, struct{}{}).Cut[shareKey{Root: key}]
	if !cut {
		return attach, nil
	}
	out := *attach
	object, ok := r.in.routes.Get(c, key)
	if ok && !route.Delegates(object) {
		out.Ports = nil // its rules are not built; a delegating route keeps its ports, because routes below it depend on them
	}
	if ok && over.Closed {
		closed = closedHosts(object, over)
	}
	out.Parents = make([]parentOut, len(attach.Parents))
	for i, parent := range attach.Parents {
		if parent.Accepted.Good() {
			places := parent.Places
			parent.Attachment = listen.Attachment{
				Accepted: manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: over.reason()},
			}
			if closed != nil {
				parent.Places = places
			}
		}
		out.Parents[i] = parent
	}
	return &out, closed
}
