package translate

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// maxHiddenScan is the number of rules of a host that hiddenRules compares with one rule of a wider host.
const maxHiddenScan = 64

// hidden says that a virtual host keeps requests from a wider one: Envoy looks into the most specific host alone.
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

// rest is the rule of a wildcard host with the lowest precedence, or one that takes every request of the host. It stays
// the same in most edits of the host, so that an edit of a wide host costs the narrow ones nothing.
type rest struct {
	Match  spot
	Prefix string // the path prefix of the match; "/" if the rule takes every request
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
	hidden *memo.Fold[manifest.Key, tableKey, hidden, memo.Ordered[hidden]]
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
	r.hidden = memo.NewFold[manifest.Key, tableKey](e, "hidden", gather[tableKey](compareHidden), memo.Ordered[hidden].Same)
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

// runRest returns the rest of a wildcard host. Its zero value is for a host without rules.
func (r *hiddenRules) runRest(c *memo.Ctx, key tableKey) (out rest) {
	host := r.in.host.Get(c, key)
	if host == nil {
		return rest{}
	}
	rules := host.Open
	if out.All = rules.Len() > 0; !out.All {
		rules = host.Table
	}
	looked := 0
	for e := range rules.Backward() {
		if looked++; looked > maxHiddenScan {
			break
		}
		if e.Rule.SignIn == (manifest.Key{}) && e.Rule.Match.Path.Kind == ir.PathPrefix {
			out.Match, out.Prefix = spotOf(e.Rule), e.Rule.Match.Path.Value
			return out
		}
	}
	return rest{}
}

// runHides compares a host with the next wider one that exists. Two hosts of different listeners have nothing to do
// with each other.
func (r *hiddenRules) runHides(c *memo.Ctx, key tableKey) hidden {
	own, _ := r.in.claimed.Get(c, key)
	for domain := range widerDomains(key.Domain) {
		wide := key
		wide.Domain = domain
		of, _ := r.in.claimed.Get(c, wide)
		switch {
		case of.Count == 0:
			continue
		case of.Listener != own.Listener:
			return hidden{}
		}
		return r.compare(r.in.host.Get(c, key), hidden{Table: key, Domain: domain, Rest: r.rest.Get(c, wide)})
	}
	return hidden{}
}

// compare returns the parameter h with its Route, or the zero value if the host takes all requests of h.Rest itself, or
// has too many rules to tell. Hosts that an HTTPRoute and a GRPCRoute both ask for have problems of their own
// (meetings).
func (r *hiddenRules) compare(host *hostOut, h hidden) hidden {
	if host == nil || h.Rest == (rest{}) || !h.Rest.All && host.Table.Len() > maxHiddenScan {
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
		if xds.Covers(&e.Rule.Match, strings.TrimSuffix(h.Rest.Prefix, "/")+"/") {
			return hidden{}
		}
	}
	return h
}

// widerDomains yields the domains of virtual hosts that have all hosts of a domain, the most specific one first:
// "*.example.com", "*.com" and "*" for "shop.example.com".
func widerDomains(domain string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := strings.TrimPrefix(domain, "*."); ; {
			_, parent, found := strings.Cut(name, ".")
			if !found {
				break
			}
			if name = parent; !yield("*." + name) {
				return
			}
		}
		yield("*")
	}
}

// hiddenProblems returns the warning of a root route: one for all hosts of the route. The set must not be empty.
func hiddenProblems(all memo.Ordered[hidden]) []manifest.Problem {
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
		Message: fmt.Sprintf("for host %q on port %d of Gateway %s%s, %s answer 404, although %s has them for %s: Envoy looks into the most specific host alone",
			first.Table.Domain, first.Table.Port, first.Table.Gateway, more, what, first.Rest.Match, wide),
		Hint: fmt.Sprintf("to send them there, add a rule with path prefix %s, with the backendRefs of that rule, to this route", first.Rest.Prefix),
	}}
}
