package translate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// A match of a route stands once in the table of every host of every port that its
// route serves on, with all that its rule and its policies add: a few routes of 16
// hostnames come to a million routes of Envoy. Each copy is therefore counted before it is
// made, by what it costs Envoy (route.Load), and beyond what is free: what is written, and
// freeTables for each match. All namespaces have the rest, Options.MaxCopies, in equal
// parts; what one does not need goes to the others. In a namespace that asks for more than
// its part, the routes that ask for the least are served. The hosts of the others answer 500 where
// they would be 404 or a wider host's: one rule for a host, which counts, too. Nothing looks at this while the sum is within MaxCopies.
//
// A route below others is counted by itself, in the tables of each root that it stands under,
// as a root may be shared. Its rules are made once before, as many as rules_budget.go allows, and
// its copies are not.

// reach counts the tables and ports that have rules of a root. Shares read only these numbers of a
// root, so that other edits of the root do not reach them.
type reach struct {
	Tables, Ports int
	// Team is true if path policies are in force and the root does not come from cluster
	// paths: its namespace answers for all that it names.
	Team bool
}

// below is the size of a route's nodes below a root, on all ports of the root together.
type below struct{ Rules, Cost int }

type spreadIn struct {
	*hostLevelRules
	*policyRules
	*claimRules
	admitted *memo.Rule[manifest.Key, *attachOut]
	flat     *memo.Rule[flatKey, *flatOut]
	gateway  *memo.Rule[manifest.Key, *listen.Gateway]
	routes   *objects
	Options
}

// spreadRules limit how often matches are copied to tables, and policies to virtual hosts.
type spreadRules struct {
	in       spreadIn
	below    *memo.Fold[shareKey, flatKey, below, below]
	reach    *memo.Rule[manifest.Key, reach]
	alone    *memo.Rule[manifest.Key, copies]
	under    *memo.Rule[shareKey, copies]
	loud     *memo.Fold[struct{}, struct{}, spreadTotal, spreadTotal]
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
	// Most folders never come near the bound: then no rule reads their totals.
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

// below returns the size that a node adds to the tables of its root.
func (f *flatOut) below() below {
	out := below{Rules: len(f.Entries) + len(f.Points), Cost: len(f.Points)}
	for _, e := range f.Entries {
		out.Cost += route.RuleCost(e.Rule, len(e.Encoded))
	}
	return out
}

// addBelow is the step of the fold below.
func addBelow(sum below, members []memo.Member[flatKey, below]) below {
	for _, m := range members {
		sum.Rules += m.New.Rules - m.Old.Rules
		sum.Cost += m.New.Cost - m.Old.Cost
	}
	return sum
}

// runReach counts the tables and ports of a route that attaches to listeners.
func (r *spreadRules) runReach(c *memo.Ctx, key manifest.Key) reach {
	object, ok := r.in.routes.Get(c, key)
	attach := r.in.admitted.Get(c, key)
	if !ok {
		return reach{}
	}
	return reach{Tables: attach.tables(), Ports: len(attach.Ports), Team: object.Source == manifest.OtherFile}
}

// runAlone counts the copies of a route's own rules, without making them.
func (r *spreadRules) runAlone(c *memo.Ctx, key manifest.Key) copies {
	object, ok := r.in.routes.Get(c, key)
	tables := r.in.admitted.Get(c, key).tables()
	if !ok || tables == 0 {
		return copies{}
	}
	return newCopies(key.Namespace, tables, r.in.loadOf(c, object))
}

// runUnder counts the copies of a route below a root, without making them.
func (r *spreadRules) runUnder(c *memo.Ctx, key shareKey) copies {
	owner := key.Root.Namespace
	root := r.reach.Get(c, key.Root)
	if key.Child.Namespace != owner && !root.Team {
		owner += ">" + key.Child.Namespace
	}
	sum, _ := r.below.Get(c, key)
	return newCopies(owner, root.Tables, route.Load{Matches: sum.Rules / max(1, root.Ports), Made: sum.Cost / max(1, root.Ports)})
}

// shareOfRoute yields the copies of a route's own rules, unless they are within the free amount.
func shareOfRoute(key manifest.Key, c copies, yield func(memo.Place[struct{}, shareKey], share)) {
	shareOf(shareKey{Root: key}, c, yield)
}

// shareOf yields copies, unless they are within the free amount.
func shareOf(key shareKey, c copies, yield func(memo.Place[struct{}, shareKey], share)) {
	if c.extra() > 0 {
		yield(memo.Place[struct{}, shareKey]{ID: key}, share{key, c})
	}
}

// listenersOf returns the listeners that serve.
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

// runHostShare counts what policies add to the virtual hosts of a listener, without making them.
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

// addHostShares is the step of the fold carried.
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

// addTotal is the step of the fold of all.
func addTotal(t spreadTotal, members []memo.Member[shareKey, share]) spreadTotal {
	if t.Shares.Len() == 0 {
		t.Shares = memo.NewOrdered(compareShares)
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

// runOverload returns the shares that exceed the limit.
func (r *spreadRules) runOverload(c *memo.Ctx, _ struct{}) *overloads {
	all, _ := r.loud.Get(c, struct{}{})
	out := &overloads{Cut: all.cut(r.in.MaxCopies), Closed: map[closedKey]bool{}}
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

// where returns where a route attaches. If the route has too many copies, closed has the rule that
// answers 500 in place of its rules. If closed is nil then, the route attaches nowhere.
func (r *spreadRules) where(c *memo.Ctx, key manifest.Key) (attach *attachOut, closed *flatOut) {
	attach = r.in.admitted.Get(c, key)
	over, cut := r.overload.Get(c, struct{}{}).Cut[shareKey{Root: key}]
	if !cut {
		return attach, nil
	}
	out := *attach
	object, ok := r.in.routes.Get(c, key)
	if ok && !route.Delegates(object) {
		out.Ports = nil // its rules are not made for them; routes below it hang on those that delegate
	}
	if ok && over.Closed {
		closed = closedHosts(object, over)
	}
	out.Parents = make([]parentOut, len(attach.Parents))
	for i, parent := range attach.Parents {
		if parent.Accepted.Good() {
			places := parent.Places
			parent.Attachment = listen.Attachment{
				Accepted: manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: "TooManyCopies: " + over.String()},
			}
			if closed != nil {
				parent.Places = places
			}
		}
		out.Parents[i] = parent
	}
	return &out, closed
}
