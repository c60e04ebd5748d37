package translate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// If an HTTPRoute and a GRPCRoute request one host of a listener, only one of the two kinds gets it
// (listen.Contest). Which one depends on all routes of the listener. If a listener has routes of both kinds, each
// change of a route's hosts computes the result for all of them again. Other edits do not. For a listener with routes
// of one kind, the usual case, nothing is computed.

// contenders are all HTTPRoutes and GRPCRoutes that request hosts of one listener. Kinds is the number of
// routes of each kind.
type contenders struct {
	All   ordered.Set[*listen.Contender]
	Kinds map[string]int
}

func sameContenders(a, b contenders) bool { return a.All.Same(b.All) }

func compareContenders(a, b *listen.Contender) int { return route.CompareOrigins(a.Origin, b.Origin) }

type contestIn struct {
	attach  *memo.Rule[manifest.Key, *attachOut]
	gateway *memo.Rule[manifest.Key, *listen.Gateway]
	routes  *servedRoutes
	holders *holdersInput
}

// contestRules decide which route gets a host that both an HTTPRoute and a GRPCRoute request.
type contestRules struct {
	in       contestIn
	mixed    *memo.Fold[listenerKey, struct{}, contenders, contenders] // only listeners with routes of both kinds
	contest  *memo.Rule[listenerKey, *listen.Outcome]
	met      *memo.Fold[manifest.Key, listenerKey, []listen.Meeting, meetings] // by route
	admitted *memo.Rule[manifest.Key, *attachOut]
	// before and given say who had the hosts of a listener before. Only listeners with routes of both kinds read them.
	before *recall[listenerKey, contenders]
	given  *recall[listenerKey, *listen.Outcome]
}

func newContestRules(e *memo.Engine, in contestIn) *contestRules {
	r := &contestRules{
		in: in, before: newRecall[listenerKey](e, "hadhosts", sameContenders), given: newRecall[listenerKey](e, "hadcontest", identical[*listen.Outcome]),
	}
	step := gather[manifest.Key](compareContenders)
	all := memo.NewFold[listenerKey, manifest.Key](e, "contenders", func(value contenders, members []memo.Member[manifest.Key, *listen.Contender]) contenders {
		out := contenders{All: step(value.All, members), Kinds: maps.Clone(value.Kinds)}
		if out.Kinds == nil {
			out.Kinds = map[string]int{}
		}
		for _, m := range members {
			if m.Had {
				out.Kinds[m.ID.Kind]--
			}
			if m.Has {
				out.Kinds[m.ID.Kind]++
			}
		}
		return out
	}, sameContenders)
	memo.From(all, in.attach, contendersOf, deepEqual)
	r.mixed = memo.NewFold[listenerKey, struct{}](e, "mixed", func(_ contenders, members []memo.Member[struct{}, contenders]) contenders {
		return members[len(members)-1].New
	}, sameContenders)
	memo.From(r.mixed, all, func(key listenerKey, c contenders, yield func(memo.Place[listenerKey, struct{}], contenders)) {
		if c.Kinds["HTTPRoute"] > 0 && c.Kinds["GRPCRoute"] > 0 {
			yield(memo.Place[listenerKey, struct{}]{Key: key}, c)
		}
	}, sameContenders)
	r.contest = memo.NewRule(e, "contest", r.runContest, deepEqual)
	memo.Each(r.contest, r.mixed)
	r.met = memo.NewFold[manifest.Key, listenerKey](e, "met", addMeetings, deepEqual[meetings])
	memo.From(r.met, r.contest, func(key listenerKey, o *listen.Outcome, yield func(memo.Place[manifest.Key, listenerKey], []listen.Meeting)) {
		if o == nil {
			return
		}
		for route, met := range o.Met {
			yield(memo.Place[manifest.Key, listenerKey]{Key: route, ID: key}, met)
		}
	}, deepEqual)
	r.before.follow(all)
	r.given.follow(r.contest)
	r.admitted = memo.NewRule(e, "admitted", r.runAdmitted, deepEqual)
	memo.Each(r.admitted, in.routes)
	return r
}

func (r *contestRules) report(all *problemFold) {
	problemsFrom(all, "attach", r.admitted, func(a *attachOut) []manifest.Problem { return a.Problems })
}

// hold implements holder.
func (r *contestRules) hold(all *holdingFold) {
	holdingsFrom(all, r.contest, func(key listenerKey, o *listen.Outcome) Holders {
		if o == nil || len(o.Both) == 0 {
			return nil
		}
		out := make(Holders, len(o.Both))
		for _, domain := range o.Both {
			out[hostThing(key, domain)] = o.Holders[domain]
		}
		return out
	})
}

// hostThing returns the Thing of a host of a listener.
func hostThing(at listenerKey, domain string) Thing {
	return Thing{Gateway: at.Gateway, Listener: at.Listener, Host: domain}
}

// runContest returns which routes got the hosts of a listener, nil for a listener with routes of one kind.
func (r *contestRules) runContest(c *memo.Ctx, key listenerKey) *listen.Outcome {
	of, both := r.mixed.Get(c, key)
	if !both || of.All.Len() == 0 {
		return nil
	}
	before, _ := r.before.Get(c, key)
	given, _ := r.given.Get(c, key)
	had := &listen.Incumbents{Before: make(map[manifest.Key]*listen.Contender, before.All.Len()), Given: given}
	for one := range before.All.All() {
		had.Before[one.Origin.Key] = one
	}
	had.Saved = func(route manifest.Key, domain string) bool {
		return r.in.holders.has(c, hostThing(key, domain), route)
	}
	return listen.Contest(slices.Collect(of.All.All()), had)
}

// contendersOf yields, for each listener that a route attaches to, the hosts that the route requests there,
// sorted. It yields nothing for a TCPRoute, TLSRoute or UDPRoute.
func contendersOf(key manifest.Key, a *attachOut, yield func(memo.Place[listenerKey, manifest.Key], *listen.Contender)) {
	if kind, _ := route.KindOf(key); !kind.Tables {
		return
	}
	claims := map[listenerKey][]listen.HostClaim{}
	for _, parent := range a.Parents {
		for _, place := range parent.Places {
			at := listenerKey{parent.Gateway, place.Listener}
			claims[at] = append(claims[at], listen.HostClaim{Domain: place.Domain, Own: route.Specific(place.Own), Granted: place.Granted})
		}
	}
	for at, list := range claims {
		slices.SortFunc(list, func(a, b listen.HostClaim) int { return cmp.Compare(a.Domain, b.Domain) })
		yield(memo.Place[listenerKey, manifest.Key]{Key: at, ID: key}, &listen.Contender{Origin: a.Origin, Claims: slices.Compact(list)})
	}
}

// runAdmitted returns where a route attaches, without the hosts that it lost to routes of another kind. A route that
// met others has problems about it.
func (r *contestRules) runAdmitted(c *memo.Ctx, key manifest.Key) *attachOut {
	attach := r.in.attach.Get(c, key)
	met, _ := r.met.Get(c, key)
	if len(met) == 0 {
		return attach
	}
	out := &attachOut{Origin: attach.Origin, Problems: slices.Clone(attach.Problems), Bound: attach.Bound}
	rejected := map[listenerKey]bool{}
	for _, parent := range attach.Parents {
		left := parent.without(met)
		if !left.Accepted.Good() && parent.Accepted.Good() {
			out.Problems = append(out.Problems, parentProblem(key, parent.Index, string(reasonHostnameConflict), left.Accepted.Message,
				"give the two routes hostnames, or listeners, of their own"))
			for _, name := range parent.Listeners {
				rejected[listenerKey{parent.Gateway, name}] = true
			}
		}
		out.Parents = append(out.Parents, left)
		for _, place := range left.Places {
			out.Ports = append(out.Ports, place.Port)
		}
	}
	out.Problems = append(out.Problems, meetingProblems(key, met, rejected)...)
	slices.Sort(out.Ports)
	out.Ports = slices.Compact(out.Ports)
	return out
}

// spans reports whether the parameter hosts contains every host that a root route serves on one port. The parameter
// key is a node of a delegation tree (see flatKey). The root route is the root of this tree, and the port is the port
// of the node.
func (r *contestRules) spans(c *memo.Ctx, key flatKey, hosts ir.Hosts) bool {
	return !slices.ContainsFunc(r.admitted.Get(c, key.root()).Parents, func(p parentOut) bool {
		places := slices.DeleteFunc(slices.Clone(p.Places), func(p listen.Place) bool { return p.Port != key.Port })
		return !listen.Spans(hosts, places)
	})
}

// tablesOf returns the virtual hosts that a node (see flatKey) adds its rules to. The parameter hosts has the hosts
// of the node.
//   - The result tables has those virtual hosts of the root route that contain at least one of these hosts.
//   - The result guests has virtual hosts with narrower domains, for example a.example.com if tables has
//     *.example.com. They exist only if another route or a listener has the narrower domain. The virtual hosts of
//     the other kind, HTTPRoute or GRPCRoute, are not among them.
//
// The node must not create a virtual host of guests. Envoy looks only at the virtual host with the narrowest domain:
// requests for a.example.com would then miss the rules that other children have in *.example.com.
func (r *contestRules) tablesOf(c *memo.Ctx, key flatKey, hosts ir.Hosts) (tables, guests []tableKey) {
	root := key.root()
	for _, parent := range r.admitted.Get(c, root).Parents {
		held, narrower := parent.Places, []listen.Place(nil)
		if !hosts.Every() {
			if g := r.in.gateway.Get(c, ir.GatewayKey(parent.Gateway)); g != nil {
				held, narrower = g.Within(held, hosts)
			}
			narrower = slices.DeleteFunc(narrower, func(p listen.Place) bool {
				o := r.contest.Get(c, listenerKey{parent.Gateway, p.Listener})
				return o != nil && o.Holders[p.Domain].Kind != root.Kind
			})
		}
		tables = appendTables(tables, key.Port, parent.Gateway, held)
		guests = appendTables(guests, key.Port, parent.Gateway, narrower)
	}
	return tables, slices.DeleteFunc(guests, func(t tableKey) bool { return slices.Contains(tables, t) })
}

// appendTables appends virtual hosts to the parameter out, without duplicates, and returns the new list. It adds the
// virtual host of each place whose Port is the parameter port. The parameter gateway is the "namespace/name" of the
// Gateway that has the places.
func appendTables(out []tableKey, port int32, gateway string, places []listen.Place) []tableKey {
	for _, place := range places {
		table := tableOf(gateway, place)
		if place.Port == port && !slices.Contains(out, table) {
			out = append(out, table)
		}
	}
	return out
}
