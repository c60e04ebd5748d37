package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

// maxHiddenScan is the number of rules of a host that hiddenRules compares with one rule of a wider host.
const maxHiddenScan = 64

// hidden says that a virtual host keeps requests from a wider one: Envoy uses only the most specific virtual host.
type hidden struct {
	Table tableKey
	// Route is the root route of the first rule of the host. The problem is reported on it.
	Route manifest.Key
	// Domain is the wider host, and Rest is what it has.
	Domain string
	Rest   rest
}

func compareHidden(a, b hidden) int {
	return cmp.Or(comparePortKeys(a.Table.portKey, b.Table.portKey), strings.Compare(a.Table.Chain, b.Table.Chain), strings.Compare(a.Table.Domain, b.Table.Domain))
}

// rest is the listener of a wildcard host, and the rule of the host with the lowest precedence of those that take every
// request with a path prefix. It stays the same in most edits of the host, so that an edit of a wide host costs the narrow
// ones nothing.
type rest struct {
	Listener string // the ID of the listener; "" if the host does not exist
	Match    spot   // zero if there is no such rule
	Prefix   string // the path prefix of the match; "/" if the rule takes every request
	// All is true if the rule takes every request of the host.
	All bool
}

type hiddenIn struct {
	host    *memo.Rule[tableKey, *hostOut]
	claimed *memo.Fold[tableKey, string, string, claim]
}

// hiddenRules find hosts without a rule for every path, of which a wider host has such rules: their requests are
// answered with 404, although a route for the wider host seems to take them.
type hiddenRules struct {
	in     hiddenIn
	rest   *memo.Rule[tableKey, rest]   // of a wildcard host
	hides  *memo.Rule[tableKey, hidden] // by the narrow host
	hidden *memo.Fold[manifest.Key, tableKey, hidden, ordered.Set[hidden]]
}

func newHiddenRules(e *memo.Engine, in hiddenIn) *hiddenRules {
	r := &hiddenRules{in: in}
	r.rest = memo.NewRule(e, "rest", r.runRest, identical[rest])
	r.hides = memo.NewRule(e, "hides", r.runHides, identical[hidden])
	memo.EachOf(r.hides, in.host, func(key tableKey, host *hostOut) []tableKey {
		if host == nil || key.Domain == "*" || host.Table.Len() == 0 || host.Open.Len() > 0 {
			return nil
		}
		return []tableKey{key}
	})
	r.hidden = memo.NewFold[manifest.Key, tableKey](e, "hidden", gather[tableKey](compareHidden), ordered.Set[hidden].Same)
	memo.From(r.hidden, r.hides, func(key tableKey, h hidden, yield func(memo.Place[manifest.Key, tableKey], hidden)) {
		if h.Domain != "" {
			yield(memo.Place[manifest.Key, tableKey]{Key: h.Route, ID: key}, h)
		}
	}, identical)
	return r
}

func (r *hiddenRules) report(all *problemFold) {
	problemsFrom(all, "hidden", r.hidden, hiddenProblems)
}

// runRest returns the rest of a wildcard host.
func (r *hiddenRules) runRest(c *memo.Ctx, key tableKey) (out rest) {
	of, _ := r.in.claimed.Get(c, key)
	if of.Count == 0 {
		return rest{}
	}
	out.Listener = of.Listener
	host := r.in.host.Get(c, key)
	if host == nil {
		return out
	}
	rules, all := host.Open, host.Open.Len() > 0
	if !all {
		rules = host.Table
	}
	looked := 0
	for e := range rules.Backward() {
		if looked++; looked > maxHiddenScan {
			break
		}
		if prefix := e.Rule.Match.Path.Value; e.Rule.SignIn == (manifest.Key{}) && xds.Covers(&e.Rule.Match, keyBelow(prefix)) {
			return rest{Listener: of.Listener, Match: spotOf(e.Rule), Prefix: prefix, All: all}
		}
	}
	return out
}

// keyBelow returns the beginning of all paths below a path prefix.
func keyBelow(prefix string) string { return strings.TrimSuffix(prefix, "/") + "/" }

// runHides compares a host with the next wider one that exists. Two hosts of different listeners have nothing to do
// with each other.
func (r *hiddenRules) runHides(c *memo.Ctx, key tableKey) hidden {
	own, _ := r.in.claimed.Get(c, key)
	for domain := range scope.Wildcards(key.Domain) {
		wide := key
		wide.Domain = domain
		switch left := r.rest.Get(c, wide); left.Listener {
		case "":
		case own.Listener:
			return r.compare(r.in.host.Get(c, key), hidden{Table: key, Domain: domain, Rest: left})
		default:
			return hidden{}
		}
	}
	return hidden{}
}

// compare returns the parameter h with its Route, or the zero value if the host takes all requests of h.Rest itself, or
// has too many rules to tell. Hosts that an HTTPRoute and a GRPCRoute both ask for have problems of their own
// (meetings).
func (r *hiddenRules) compare(host *hostOut, h hidden) hidden {
	if host == nil || h.Rest.Prefix == "" || !h.Rest.All && host.Table.Len() > maxHiddenScan {
		return hidden{}
	}
	for e := range host.Table.All() {
		if h.Route == (manifest.Key{}) {
			h.Route = e.Rule.Root.Key
			if h.Route.Kind != h.Rest.Match.Route.Kind {
				return hidden{}
			}
		}
		if h.Rest.All {
			break
		}
		if xds.Covers(&e.Rule.Match, keyBelow(h.Rest.Prefix)) {
			return hidden{}
		}
	}
	return h
}

// hiddenProblems returns the warning of a root route: one for all hosts of the route. The set must not be empty.
func hiddenProblems(all ordered.Set[hidden]) []manifest.Problem {
	list := slices.Collect(all.All())
	first, more := list[0], ""
	if len(list) > 1 {
		more = fmt.Sprintf(" (hosts or ports like it: %d more)", len(list)-1)
	}
	what := "requests that no rule of the host takes"
	if !first.Rest.All {
		what = "requests for " + first.Rest.Prefix
	}
	wide := "every host"
	if first.Domain != "*" {
		wide = first.Domain
	}
	return []manifest.Problem{{
		Code: "HidesWiderHost", Severity: manifest.Warning, Object: first.Route, Field: "spec.hostnames",
		Message: fmt.Sprintf("for host %q on port %d of Gateway %s%s, %s answer 404, although %s has them for %s: Envoy uses only the most specific virtual host",
			first.Table.Domain, first.Table.Port, first.Table.Gateway, more, what, first.Rest.Match, wide),
		Hint: fmt.Sprintf("to send them there, add a rule with path prefix %s, with the backendRefs of that rule, to this route", first.Rest.Prefix),
	}}
}
