package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// shadow is a problem about two matches in a virtual host that accept the same requests, so that the later
// match never gets a request. The embedded spot is the match that the problem is reported on.
type shadow struct {
	shadowKey
	spot
	// By is the other match of the pair.
	By spot
	// Takes is true if the other match is one that takes requests, and with them policies, by its hostname alone.
	Takes bool
	// Wins is true if the embedded spot gets the requests, and By gets none. If Wins is false, By gets them.
	Wins bool
	Why  string
}

// spot is a match of a route. To is the route to which the match delegates requests. If the match serves
// requests itself, To is zero.
type spot struct {
	Route manifest.Key
	Field string
	To    manifest.Key
	// SignIn is ir.Rule.SignIn. If SignIn is set, Path is the path of the rule.
	SignIn manifest.Key
	Path   string
}

// shadowKey identifies a shadow by its virtual host and two rules with the same match. Rule is the one that the
// problem is reported on, and Other is the other one.
type shadowKey struct {
	Table       tableKey
	Rule, Other string
}

// compare orders the shadows of one route by their two matches. For the same two matches it returns 0, even if
// the shadows are in different virtual hosts or under different parents.
func (s *shadow) compare(other *shadow) int {
	return cmp.Or(cmp.Compare(s.Field, other.Field), ir.TrueFirst(!s.Wins, !other.Wins), manifest.CompareKeys(s.By.Route, other.By.Route),
		cmp.Compare(s.By.Field, other.By.Field), manifest.CompareKeys(s.To, other.To), manifest.CompareKeys(s.By.To, other.By.To))
}

func compareShadows(a, b *shadow) int {
	return cmp.Or(a.compare(b), comparePortKeys(a.Table.portKey, b.Table.portKey), strings.Compare(a.Table.Chain, b.Table.Chain),
		strings.Compare(a.Table.Domain, b.Table.Domain), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Other, b.Other))
}

type shadowIn struct {
	host *memo.Rule[tableKey, *hostOut]
}

// shadowRules find pairs of equal matches in a virtual host, of which the later match never gets a request. A twin
// is such a pair of rules. A shadow is the problem about it for one route (see twin.shadows).
type shadowRules struct {
	in       shadowIn
	twins    *memo.Rule[tableKey, []twin]                                       // by virtual host
	shadowed *memo.Fold[manifest.Key, shadowKey, *shadow, ordered.Set[*shadow]] // by route, over all virtual hosts
}

func newShadowRules(e *memo.Engine, in shadowIn) *shadowRules {
	r := &shadowRules{in: in}
	r.twins = memo.NewRule(e, "twins", r.runTwins, slices.Equal[[]twin])
	memo.EachOf(r.twins, in.host, func(key tableKey, host *hostOut) []tableKey {
		if host == nil || len(host.Twins)+host.Guarded.Len() == 0 {
			return nil
		}
		return []tableKey{key}
	})
	r.shadowed = memo.NewFold[manifest.Key, shadowKey](e, "shadowed", gather[shadowKey](compareShadows), ordered.Set[*shadow].Same)
	memo.From(r.shadowed, r.twins, func(key tableKey, twins []twin, yield func(memo.Place[manifest.Key, shadowKey], *shadow)) {
		for _, t := range twins {
			for _, s := range t.shadows(key) {
				yield(memo.Place[manifest.Key, shadowKey]{Key: s.Route, ID: s.shadowKey}, s)
			}
		}
	}, deepEqual)
	return r
}

func (r *shadowRules) report(all *problemFold) {
	problemsFrom(all, "shadowed", r.shadowed, shadowProblems)
}

// shadows returns the problems that are shown for two rules with the same match. The parameter table is their virtual
// host. These routes have a problem:
//   - If the later rule loses policies to the first one by its hostname alone (twin.takes), both routes have a problem.
//   - If the routes of the two rules are in different namespaces, both routes have a problem.
//   - Each rule has a chain of routes, from its root route down to its own. Take the two routes at which the chains
//     first differ (route.Parting). If these two are in different namespaces, each of the two has a problem, unless a
//     route of the same namespace already has one by the first item.
//   - If neither applies, only the route of the later rule has a problem.
func (t twin) shadows(table tableKey) (out []*shadow) {
	why := strings.TrimPrefix(route.Why(t.First.Rule, t.Later.Rule), route.EqualMatches)
	takes := t.takes()
	tell := func(at, by spot, wins bool) {
		if !takes && slices.ContainsFunc(out, func(s *shadow) bool { return s.Route.Namespace == at.Route.Namespace }) {
			return
		}
		s := &shadow{shadowKey{table, t.Later.Rule.Name, t.First.Rule.Name}, at, by, takes, wins, why}
		if wins {
			s.Rule, s.Other = s.Other, s.Rule
		}
		out = append(out, s)
	}
	first, later := spotOf(t.First.Rule), spotOf(t.Later.Rule)
	a, b := route.Parting(t.First.Rule, t.Later.Rule)
	parted := a.Route.Namespace != b.Route.Namespace
	switch {
	case takes:
		tell(later, first, false)
		tell(first, later, true)
		return out
	case first.Route.Namespace != later.Route.Namespace:
		tell(later, first, false)
		tell(first, later, true)
	case !parted:
		tell(later, first, false)
	}
	if parted {
		above, below := spotAt(a, t.First.Rule), spotAt(b, t.Later.Rule)
		tell(below, above, false)
		tell(above, below, true)
	}
	return out
}

// spotOf returns the match of a rule in the rule's own route. For the delegating matches above the rule, see spotAt.
func spotOf(rule *ir.Rule) spot {
	out := spot{Route: rule.Source.Key, Field: matchField(rule)}
	if out.SignIn = rule.SignIn; out.SignIn != (manifest.Key{}) {
		out.Path = rule.Match.Path.Value
	}
	return out
}

// spotAt returns the match of one step (hop) on the way from the root to a rule. The step is a delegating match in
// the chain of the rule, or the rule's own match at the end of the way.
func spotAt(hop ir.Hop, rule *ir.Rule) spot {
	out := spot{Route: hop.Route, Field: fmt.Sprintf("spec.rules[%d].matches[%d]", hop.Rule, hop.Match)}
	if hop.Route != rule.Source.Key {
		out.To = rule.Source.Key
	}
	return out
}

// String returns the match as text.
func (s spot) String() string {
	out := fmt.Sprintf("%s of %s", s.Field, s.Route)
	if s.To != (manifest.Key{}) {
		out += fmt.Sprintf(" (handed to %s)", s.To)
	}
	return out
}

// shadowProblems returns one warning for each pair of matches in shadows, even if the pair occurs in several
// virtual hosts. The set shadows must not be empty.
func shadowProblems(shadows ordered.Set[*shadow]) (problems []manifest.Problem) {
	var first, last *shadow
	more := 0
	for s := range shadows.All() {
		switch {
		case first == nil:
			first = s
		case first.compare(s) != 0:
			problems = append(problems, first.problem(more))
			first, more = s, 0
		case s.Table != last.Table:
			more++
		}
		last = s
	}
	return append(problems, first.problem(more))
}

// problem returns the problem that users see for a shadow. The parameter more is the number of other virtual
// hosts with the same pair of matches; the message mentions it.
func (s *shadow) problem(more int) manifest.Problem {
	requests := fmt.Sprintf("host %q on port %d of Gateway %s", s.Table.Domain, s.Table.Port, s.Table.Gateway)
	if more > 0 {
		requests += fmt.Sprintf(" (and %d more hosts or ports)", more)
	}
	if s.To != (manifest.Key{}) {
		requests += fmt.Sprintf(" that it hands to %s", s.To)
	}
	if s.SignIn != (manifest.Key{}) || s.By.SignIn != (manifest.Key{}) {
		return s.signInProblem(requests)
	}
	if s.Takes {
		return s.takenProblem(requests)
	}
	problem := manifest.Problem{Code: codeShadowed, Severity: manifest.Warning, Object: s.Route, Field: s.Field}
	if s.Wins {
		problem.Code = codeContested
		problem.Message = fmt.Sprintf("this match takes all requests for %s from %s, which is the same: %s", requests, s.By, s.Why)
		problem.Hint = "decide which namespace has this host and match, or make the two matches differ"
		return problem
	}
	problem.Message = fmt.Sprintf("this match gets no request for %s: %s is the same, and comes first: %s", requests, s.By, s.Why)
	problem.Hint = "remove one of the two, or make them differ in path, method, headers, query parameters or hostnames"
	return problem
}

// signInProblem returns the problem of a rule for a callback or logout that has the same match as another rule.
// The parameter requests describes the requests, for the message.
func (s *shadow) signInProblem(requests string) manifest.Problem {
	own, other := s.spot, s.By
	if own.SignIn == (manifest.Key{}) {
		own, other = other, own
	}
	return manifest.Problem{
		Code: "SignInConflict", Severity: manifest.Error, Object: s.Route, Field: s.Field,
		Message: fmt.Sprintf("path %s of %s is that of %s as well, for %s: one of the two gets no request, so that users cannot finish to sign in, or cannot sign out",
			own.Path, own.SignIn, other.owner(), requests),
		Hint: "give each identity provider a redirectURI and a logoutPath of its own, which no route has",
	}
}

// owner returns the object that a match belongs to, as text.
func (s spot) owner() string {
	if s.SignIn != (manifest.Key{}) {
		return s.SignIn.String()
	}
	return s.String()
}

// runTwins returns the pairs of rules in a virtual host that have the same match, and those of takenIn. It leaves out pairs that users need
// not know of (see twin.agree and pairCounts).
func (r *shadowRules) runTwins(c *memo.Ctx, key tableKey) (twins []twin) {
	host := r.in.host.Get(c, key)
	if host == nil {
		return nil
	}
	told := pairCounts{}
	for _, t := range takenIn(host) {
		if told.count(t) {
			twins = append(twins, t)
		}
	}
	for _, group := range host.Twins {
		firsts := map[string]*entry{} // the first entry for each set of hosts (hostsIn)
		for _, e := range group {
			hosts := hostsIn(key.Domain, e.Rule)
			first, had := firsts[hosts]
			if !had {
				firsts[hosts] = e
				continue
			}
			if t := (twin{first, e}); !t.agree() && told.count(t) {
				twins = append(twins, t)
			}
		}
	}
	return twins
}
