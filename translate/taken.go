package translate

import (
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// Of the rules of a virtual host, those of the more specific hostname come first (route.Compare). So a rule with a short
// path can take requests from a rule with a longer path, and from the policies there: both routes are told.

// guardedBy reports whether an entry has policies that can be lost by the hostname of another route: its root's hostname
// is wider than the domain, and it has a policy or a filter ExternalAuth, or is closed because of one.
func guardedBy(e *entry) bool {
	if e.Rule.Wider == "" || e.Rule.Preflight != nil {
		return false
	}
	action := &e.Rule.Action
	return e.Own != nil && len(e.Own.Origins) > 0 || action.ExternalAuth != nil || action.ClosedBy() != ""
}

// maxTakers is the number of rules with one path that takenIn compares with a rule.
const maxTakers = 4

// takenIn returns pairs of entries of a virtual host: Later is one of the guarded entries, and First comes before it by
// the hostname alone, and may take its requests. There is one pair for each two routes. Pairs with the same match are left
// out, as they are twins.
func takenIn(host *hostOut) (pairs []twin) {
	if host.Guarded.Len() == 0 {
		return nil
	}
	byPath := map[string][]*entry{}
	for e := range host.Table.All() {
		path, whole := pathOf(&e.Rule.Match)
		if whole && e.Rule.Preflight == nil && len(byPath[path]) < maxTakers && e.Rule.Weight != route.WeightOfClosed {
			byPath[path] = append(byPath[path], e)
		}
	}
	known := map[[2]manifest.Key]bool{}
	for later := range host.Guarded.All() {
		first := takerOf(later, byPath)
		if first == nil || known[[2]manifest.Key{first.Rule.Source.Key, later.Rule.Source.Key}] {
			continue
		}
		known[[2]manifest.Key{first.Rule.Source.Key, later.Rule.Source.Key}] = true
		pairs = append(pairs, twin{first, later})
	}
	return pairs
}

// takerOf returns the first entry that takes requests of the entry later by its hostname, nil if there is none.
func takerOf(later *entry, byPath map[string][]*entry) (found *entry) {
	path, _ := pathOf(&later.Rule.Match)
	for {
		for _, e := range byPath[path] {
			if route.ByHostname(e.Rule, later.Rule) && meet(&e.Rule.Match, &later.Rule.Match) &&
				!route.SameRequests(e.Rule, later.Rule) && (found == nil || compareEntries(e, found) < 0) {
				found = e
			}
		}
		if path == "" {
			return found
		}
		path = path[:strings.LastIndexByte(path, '/')]
	}
}

// pathOf returns the path of a match, as a prefix of segments without the last slash. For a regular expression, this is
// what every path begins with, and whole is false.
func pathOf(match *ir.Match) (path string, whole bool) {
	path = xds.Prefix(match)
	if match.Path.Kind == ir.PathRegex {
		return path[:max(0, strings.LastIndexByte(path, '/'))], false
	}
	if path = strings.TrimRight(path, "/"); !strings.HasPrefix(path, "/") {
		return "", true
	}
	return path, match.Path.Kind == ir.PathPrefix
}

// meet reports whether the methods of two matches do not exclude each other.
func meet(a, b *ir.Match) bool { return a.Method == "" || b.Method == "" || a.Method == b.Method }

// takes reports whether a pair of rules is of the kind that takenIn finds: twins are, too, if the hostname decides.
func (t twin) takes() bool { return guardedBy(t.Later) && route.ByHostname(t.First.Rule, t.Later.Rule) }

// takenProblem returns the problem of a match that loses requests, and with them policies, to another one by the hostname
// alone, or of the match that takes them. The parameter requests describes the requests.
func (s *shadow) takenProblem(requests string) manifest.Problem {
	problem := manifest.Problem{Code: codeShadowed, Severity: manifest.Warning, Object: s.Route, Field: s.Field}
	loser := s.Route
	if s.Wins {
		problem.Code, loser = codeContested, s.By.Route
		problem.Message = "this match takes requests for " + requests + " from rules with policies, such as " + s.By.String() + ", and these policies do not apply to them here: " + s.Why
	} else {
		problem.Message = "requests for " + requests + " go to " + s.By.String() + ", and the policies of this match, and of others of the route, do not apply to them: " + s.Why
	}
	problem.Hint = "give both the policies; or add a copy of " + loser.String() + ", or of the root that leads to it, with hostnames: [\"" + s.Table.Domain + "\"], so that the paths decide"
	return problem
}
