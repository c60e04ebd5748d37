package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// If an HTTPRoute and a GRPCRoute have a common host on one listener, only one of them is accepted
// (listen.Contest). Whether a route is accepted depends on all older routes of the listener. If a listener has
// routes of both kinds, each change of a route's hosts computes the result for all of them again. Other edits
// do not. For a listener with routes of one kind, the usual case, nothing is computed.

// contenders are all HTTPRoutes and GRPCRoutes that request hosts of one listener. Kinds is the number of
// routes of each kind.
type contenders struct {
	All   memo.Ordered[*listen.Contender]
	Kinds map[string]int
}

func sameContenders(a, b contenders) bool { return a.All.Same(b.All) }

func compareContenders(a, b *listen.Contender) int { return route.CompareOrigins(a.Origin, b.Origin) }

type contestIn struct {
	attach  *memo.Rule[manifest.Key, *attachOut]
	gateway *memo.Rule[manifest.Key, *listen.Gateway]
	routes  *objects
}

// contestRules decide which route gets a host that both an HTTPRoute and a GRPCRoute request.
type contestRules struct {
	in       contestIn
	contest  *memo.Rule[listenerKey, map[manifest.Key]listen.Loss]
	admitted *memo.Rule[manifest.Key, *attachOut]
	won      *memo.Fold[manifest.Key, winKey, *win, memo.Ordered[*win]]
}

func newContestRules(e *memo.Engine, in contestIn) *contestRules {
	r := &contestRules{in: in}
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
	mixed := memo.NewFold[listenerKey, struct{}](e, "mixed", func(_ contenders, members []memo.Member[struct{}, contenders]) contenders {
		return members[len(members)-1].New
	}, sameContenders)
	memo.From(mixed, all, func(key listenerKey, c contenders, yield func(memo.Place[listenerKey, struct{}], contenders)) {
		if c.Kinds["HTTPRoute"] > 0 && c.Kinds["GRPCRoute"] > 0 {
			yield(memo.Place[listenerKey, struct{}]{Key: key}, c)
		}
	}, sameContenders)
	r.contest = memo.NewRule(e, "contest", func(c *memo.Ctx, key listenerKey) map[manifest.Key]listen.Loss {
		of, _ := mixed.Get(c, key)
		return listen.Contest(slices.Collect(of.All.All()))
	}, maps.Equal[map[manifest.Key]listen.Loss])
	r.admitted = memo.NewRule(e, "admitted", r.runAdmitted, deepEqual)
	memo.Each(r.admitted, in.routes)
	r.won = memo.NewFold[manifest.Key, winKey](e, "won", gather[winKey](compareWins), memo.Ordered[*win].Same)
	memo.From(r.won, r.admitted, winsOf, deepEqual)
	return r
}

func (r *contestRules) report(all *problemFold) {
	problemsFrom(all, "attach", r.admitted, func(a *attachOut) []manifest.Problem { return a.Problems })
	problemsFrom(all, "won", r.won, winProblems)
}

// winKey is a listener and the route that lost a host there.
type winKey struct {
	listenerKey
	Loser manifest.Key
}

// win is a host that one route got, and that another route lost. The routes have different kinds and
// namespaces.
type win struct {
	winKey
	Winner manifest.Key
	Domain string
}

func compareWins(a, b *win) int {
	return cmp.Or(cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Listener, b.Listener), manifest.CompareKeys(a.Loser, b.Loser))
}

// winsOf yields the wins of other routes over one route (the parameter key). There is one win for each listener at
// which this route lost a host to a route of another namespace. The Key of the yielded memo.Place is the winner: the
// route that got the host.
func winsOf(key manifest.Key, a *attachOut, yield func(memo.Place[manifest.Key, winKey], *win)) {
	for at, loss := range a.Lost {
		if loss.By.Namespace != key.Namespace {
			w := &win{winKey{at, key}, loss.By, loss.Domain}
			yield(memo.Place[manifest.Key, winKey]{Key: loss.By, ID: w.winKey}, w)
		}
	}
}

// winProblems returns a warning for each host that a route got and a later route lost.
func winProblems(won memo.Ordered[*win]) []manifest.Problem {
	var out []manifest.Problem
	for w := range won.All() {
		out = append(out, manifest.Problem{
			Code: codeContested, Severity: manifest.Warning, Object: w.Winner, Field: "spec.hostnames",
			Message: fmt.Sprintf("this route has host %q on listener %s of Gateway %s, and %s, which asks for it as well, is not accepted there", w.Domain, w.Listener, w.Gateway, w.Loser),
			Hint:    "decide which namespace has this host, or give the two routes hostnames of their own",
		})
	}
	return out
}

// contendersOf yields, for each listener that a route attaches to, the hosts that the route requests there,
// sorted. It yields nothing for a TCPRoute, TLSRoute or UDPRoute.
func contendersOf(key manifest.Key, a *attachOut, yield func(memo.Place[listenerKey, manifest.Key], *listen.Contender)) {
	if kind, _ := route.KindOf(key); !kind.Tables {
		return
	}
	domains := map[listenerKey][]string{}
	for _, parent := range a.Parents {
		for _, place := range parent.Places {
			at := listenerKey{parent.Gateway, place.Listener}
			domains[at] = append(domains[at], place.Domain)
		}
	}
	for at, list := range domains {
		slices.Sort(list)
		yield(memo.Place[listenerKey, manifest.Key]{Key: at, ID: key}, &listen.Contender{Origin: a.Origin, Domains: slices.Compact(list)})
	}
}

// runAdmitted returns where a route attaches, without the listeners that it lost to routes of another kind.
func (r *contestRules) runAdmitted(c *memo.Ctx, key manifest.Key) *attachOut {
	attach := r.in.attach.Get(c, key)
	lost := map[listenerKey]listen.Loss{}
	for _, parent := range attach.Parents {
		for _, place := range parent.Places {
			at := listenerKey{parent.Gateway, place.Listener}
			if loss, lose := r.contest.Get(c, at)[key]; lose {
				lost[at] = loss
			}
		}
	}
	if len(lost) == 0 {
		return attach
	}
	out := &attachOut{Origin: attach.Origin, Problems: slices.Clone(attach.Problems), Bound: attach.Bound, Lost: lost}
	for i, parent := range attach.Parents {
		if left, refusal := parent.without(lost); refusal != "" {
			problem := parentProblem(key, parent.Index, "HostnameConflict", refusal, "give the two routes hostnames, or listeners, of their own")
			parent = left
			out.Problems = append(out.Problems, problem)
		}
		out.Parents = append(out.Parents, parent)
		for _, place := range out.Parents[i].Places {
			out.Ports = append(out.Ports, place.Port)
		}
	}
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
//     *.example.com. They exist only if another route or a listener has the narrower domain.
//
// The node must not create a virtual host of guests. Envoy looks only at the virtual host with the narrowest domain:
// requests for a.example.com would then miss the rules that other children have in *.example.com.
func (r *contestRules) tablesOf(c *memo.Ctx, key flatKey, hosts ir.Hosts) (tables, guests []tableKey) {
	for _, parent := range r.admitted.Get(c, key.root()).Parents {
		held, narrower := parent.Places, []listen.Place(nil)
		if !hosts.Every() {
			if g := r.in.gateway.Get(c, ir.GatewayKey(parent.Gateway)); g != nil {
				held, narrower = g.Within(held, hosts)
			}
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
