package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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

// freeTables are the tables that each match may always stand in: two hostnames, on HTTP
// and HTTPS.
const freeTables = 4

// shareKey names what a route puts into tables by itself or, with Child, what this one puts
// there below it.
type shareKey struct{ Root, Child manifest.Key }

// object is the route that makes the copies.
func (k shareKey) object() manifest.Key {
	if k.Child.IsZero() {
		return k.Root
	}
	return k.Child
}

func (k shareKey) String() string {
	if k.Child.IsZero() {
		return k.Root.String()
	}
	return k.Child.String() + " below " + k.Root.String()
}

func compareShareKeys(a, b shareKey) int {
	return cmp.Or(manifest.CompareKeys(a.Root, b.Root), manifest.CompareKeys(a.Child, b.Child))
}

// share is what a shareKey comes to, in plain routes of Envoy.
type share struct {
	Key shareKey
	// Owner answers for it: the namespace of the root or, as a root may be shared, those of
	// the root and of the child.
	Owner  string
	Tables int
	// Cost is that of all copies, Extra what of it is not Free.
	Cost, Free, Extra int
}

// newShare returns the share of what has a load in each of so many tables.
func newShare(key shareKey, owner string, tables int, load route.Load) share {
	free := max(load.Written, freeTables*load.Matches)
	cost := tables * load.Made
	return share{Key: key, Owner: owner, Tables: tables, Cost: cost, Free: free, Extra: max(0, cost-free)}
}

// compareShares puts those first that ask for the least.
func compareShares(a, b share) int {
	return cmp.Or(cmp.Compare(a.Extra, b.Extra), compareShareKeys(a.Key, b.Key))
}

// reach is in how many tables, on how many ports, the rules below a root stand: all that their
// shares read of it, so that an edit of the root does not reach them.
type reach struct {
	Tables, Ports int
	// Team is true if path policies are in force and the root does not come from cluster
	// paths: its namespace answers for all that it names.
	Team bool
}

// below is what the nodes of a route below a root come to, on all ports of the root together.
type below struct{ Rules, Cost int }

// spreadTotal is what all routes ask for beyond what is free.
type spreadTotal struct {
	Extra  int
	Shares memo.Ordered[share] // those with an Extra
}

func sameTotal(a, b spreadTotal) bool { return a.Extra == b.Extra && a.Shares.Same(b.Shares) }

type spreadIn struct {
	*policyRules
	admitted *memo.Rule[manifest.Key, *attachOut]
	flat     *memo.Rule[flatKey, *flatOut]
	routes   *objects
	Options
}

// spreadRules bound how often matches stand in tables.
type spreadRules struct {
	in       spreadIn
	below    *memo.Fold[shareKey, flatKey, below, below]
	reach    *memo.Rule[manifest.Key, reach]
	share    *memo.Rule[shareKey, share]
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
	r.share = memo.NewRule(e, "share", r.runShare, identical[share])
	memo.EachOf(r.share, in.routes, func(key manifest.Key, _ *manifest.Object) []shareKey { return []shareKey{{Root: key}} })
	memo.Each(r.share, r.below)
	total := memo.NewFold[struct{}, shareKey](e, "total", addTotal, sameTotal)
	memo.From(total, r.share, func(key shareKey, s share, yield func(memo.Place[struct{}, shareKey], share)) {
		if s.Extra > 0 {
			yield(memo.Place[struct{}, shareKey]{ID: key}, s)
		}
	}, identical)
	// Most folders never come near the bound: then no rule is told of their totals.
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

// below returns what a node adds to the tables of its root.
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

// runReach returns where the rules of a route that attaches to listeners stand.
func (r *spreadRules) runReach(c *memo.Ctx, key manifest.Key) reach {
	object, ok := r.in.routes.Get(c, key)
	attach := r.in.admitted.Get(c, key)
	if !ok {
		return reach{}
	}
	return reach{Tables: attach.tables(), Ports: len(attach.Ports), Team: object.Source == manifest.OtherFile}
}

// runShare counts the copies of a route, by itself or below a root, without making them.
func (r *spreadRules) runShare(c *memo.Ctx, key shareKey) share {
	owner := key.Root.Namespace
	if key.Child.IsZero() {
		object, ok := r.in.routes.Get(c, key.Root)
		tables := r.in.admitted.Get(c, key.Root).tables()
		if !ok || tables == 0 {
			return share{Key: key}
		}
		return newShare(key, owner, tables, r.in.loadOf(c, object))
	}
	root := r.reach.Get(c, key.Root)
	if key.Child.Namespace != owner && !root.Team {
		owner += ">" + key.Child.Namespace
	}
	sum, _ := r.below.Get(c, key)
	return newShare(key, owner, root.Tables, route.Load{Matches: sum.Rules / max(1, root.Ports), Made: sum.Cost / max(1, root.Ports)})
}

// addTotal is the step of the fold of all.
func addTotal(t spreadTotal, members []memo.Member[shareKey, share]) spreadTotal {
	if t.Shares.Len() == 0 {
		t.Shares = memo.NewOrdered(compareShares)
	}
	for _, m := range members {
		t.Extra += m.New.Extra - m.Old.Extra
		if m.Had {
			t.Shares = t.Shares.Delete(m.Old)
		}
		if m.Has {
			t.Shares = t.Shares.Insert(m.New)
		}
	}
	return t
}

// closedKey names Points below a root that look for routes with a property.
type closedKey struct {
	Root     manifest.Key
	Property route.Property
}

// overloads are the shares that do not fit.
type overloads struct {
	Cut map[shareKey]overload
	// Closed has the Points that look for a route that is cut below their root.
	Closed map[closedKey]bool
}

// overload is why a route serves nowhere. Limit is the part of its namespace.
type overload struct {
	Tables, Cost, Limit int
	// Closed is true if the hosts of the route answer 500. A route for which that does not fit
	// either has no hosts.
	Closed bool
}

// runOverload cuts the shares that do not fit.
func (r *spreadRules) runOverload(c *memo.Ctx, _ struct{}) *overloads {
	all, _ := r.loud.Get(c, struct{}{})
	out := &overloads{Cut: all.cut(r.in.MaxCopies), Closed: map[closedKey]bool{}}
	for key := range out.Cut {
		if child, ok := r.in.routes.Get(c, key.Child); ok {
			for _, property := range route.Offers(child) {
				out.Closed[closedKey{key.Root, property}] = true
			}
		}
	}
	return out
}

// cut returns the shares that do not fit into most.
func (t spreadTotal) cut(most int) map[shareKey]overload {
	out := map[shareKey]overload{}
	if t.Extra <= most {
		return out
	}
	asked, left := map[string]int{}, map[string]int{}
	for s := range t.Shares.All() {
		asked[s.Owner] += s.Extra
	}
	part := partOf(most, slices.Collect(maps.Values(asked)))
	for s := range t.Shares.All() {
		if _, begun := left[s.Owner]; !begun {
			left[s.Owner] = part
		}
		if asked[s.Owner] > part && s.Extra > left[s.Owner] {
			closed := max(0, s.Tables-s.Free) // a plain route for each table
			kind, _ := route.KindOf(s.Key.Root)
			over := overload{Tables: s.Tables, Cost: s.Cost, Limit: part, Closed: kind.Tables && s.Key.Child.IsZero() && closed <= left[s.Owner]}
			if over.Closed {
				left[s.Owner] -= closed
			}
			out[s.Key] = over
			continue
		}
		left[s.Owner] -= s.Extra
	}
	return out
}

// partOf returns the most that each may have, so that all together have at most so much and
// those that ask for less get all that they ask for.
func partOf(most int, asked []int) int {
	slices.Sort(asked)
	for i, n := range asked {
		if part := most / (len(asked) - i); n > part {
			return part
		}
		most -= n
	}
	return most
}

// cuts reports whether nothing of a node may stand in tables.
func (o *overloads) cuts(key flatKey) bool {
	_, root := o.Cut[shareKey{Root: key.root()}]
	_, own := o.Cut[shareKey{key.root(), key.Route}]
	return root || own
}

// closes reports whether a Point of a node looks for a route that is cut below the root: what
// that one would have served answers 500.
func (o *overloads) closes(key flatKey, point *route.Point) bool {
	if len(o.Closed) == 0 {
		return false
	}
	return slices.ContainsFunc(route.Wants(key.Route, []*route.Point{point}), func(property route.Property) bool {
		return o.Closed[closedKey{key.root(), property}]
	})
}

func (o overload) String() string {
	return fmt.Sprintf("its matches would stand in the tables of %d hosts and ports, which costs Envoy as much as %d plain routes; what the namespace may add beyond %d for each match is %d", o.Tables, o.Cost, freeTables, o.Limit)
}

// problems reports the routes that serve nowhere, or not below a root.
func (o *overloads) problems() []manifest.Problem {
	var problems []manifest.Problem
	for key, over := range o.Cut {
		where := "the route serves nowhere: "
		if over.Closed {
			where = "the route serves nowhere, its hosts answer 500: "
		}
		if !key.Child.IsZero() {
			where = "the route serves nothing below " + key.Root.String() + ", which answers 500: "
		}
		problems = append(problems, manifest.Problem{
			Code: "TooManyCopies", Severity: manifest.Error, Object: key.object(), Field: "spec.parentRefs",
			Message: where + over.String(),
			Hint:    "name the listeners that it is for by sectionName, name fewer hostnames, use fewer regular expressions and smaller policies and filters, or raise --max-copies",
		})
	}
	return problems
}

// where says where a route attaches. Where its copies are too many, closed is what answers 500 at its
// places in place of its rules; it has no places where closed is nil.
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
		if parent.Refused.Good() {
			places := parent.Places
			parent.Attachment = listen.Attachment{
				Refused: manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: "TooManyCopies: " + over.String()},
			}
			if closed != nil {
				parent.Places = places
			}
		}
		out.Parents[i] = parent
	}
	return &out, closed
}
