package translate

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/route"
)

// Twins are rules of one virtual host that match the same requests. Only the first of them serves.

const (
	// maxTwins is the number of twins, pairs of rules with the same match, that are reported for a host if both
	// rules belong to one namespace.
	maxTwins = 100
	// maxRivals limits the twins, pairs of rules with the same match, that are reported for a host if their routes
	// are in two namespaces. A twin is left out if each of its two routes already has maxRivals twins with the
	// namespace of the other. So each route that has twins with another namespace has at least one reported.
	maxRivals = 20
)

// groupTwins returns a function for bucket.Shape.Twins. That function returns the groups of two or more entries
// with the same match, without the entries that twinsAmong leaves out. The parameter seed is for hashes of
// matches.
func groupTwins(seed maphash.Seed) func([]*entry) [][]*entry {
	return func(list []*entry) (groups [][]*entry) {
		if len(list) < 2 {
			return nil
		}
		type summed struct {
			sum uint64
			at  int
		}
		sums := make([]summed, len(list))
		for i, e := range list {
			sums[i] = summed{route.SumOfRequests(seed, e.Rule), i}
		}
		slices.SortFunc(sums, func(a, b summed) int { return cmp.Or(cmp.Compare(a.sum, b.sum), a.at-b.at) })
		for first := 0; first < len(sums); {
			last := first + 1
			for last < len(sums) && sums[last].sum == sums[first].sum {
				last++
			}
			if last-first > 1 {
				group := make([]*entry, 0, last-first)
				for _, s := range sums[first:last] {
					group = append(group, list[s.at])
				}
				if group = twinsAmong(group); len(group) > 1 {
					groups = append(groups, group)
				}
			}
			first = last
		}
		slices.SortFunc(groups, func(a, b []*entry) int { return compareEntries(a[0], b[0]) })
		return groups
	}
}

// twinsAmong returns the entries of a group that have the same match as the first entry. All entries of the group
// must have the same hash of their match. These rules are left out:
//   - The rule that the function closedHosts makes for a route with too many copies (see overload).
//   - A guard, if a rule of one of its child routes is also in the group, and the child's rule is for all hosts. A
//     guard (ir.Rule.Guard) answers the requests that a delegating rule matches, but no rule of a child route. Here
//     the child's rule matches all these requests. So the guard gets no request, which is as intended.
//   - A rule for preflight requests (ir.Rule.Preflight). If the rules that it was added for are twins, they are told.
func twinsAmong(group []*entry) []*entry {
	guarded := map[string]bool{} // names of rules that have a child in the group
	for _, e := range group {
		if at := strings.LastIndexByte(e.Rule.Name, '>'); at >= 0 && len(e.Rule.Match.Hosts) == 0 {
			guarded[e.Rule.Name[:at]] = true
		}
	}
	return slices.DeleteFunc(group, func(e *entry) bool {
		return e.Rule.Preflight != nil || !route.SameRequests(group[0].Rule, e.Rule) || e.Rule.Guard && guarded[e.Rule.Name] || e.Rule.Weight == route.WeightOfClosed
	})
}

// twin is a pair of entries of a host with the same match. Later never gets a request.
type twin struct{ First, Later *entry }

// hostsIn returns, as text, the hosts to which a rule is limited in the virtual host of the given domain. If
// the rule serves every request of that virtual host, the result is "".
func hostsIn(domain string, rule *ir.Rule) string {
	if len(rule.Match.Hosts) == 0 || listen.Covers(ir.HostsOf(rule.Match.Hosts...), domain) {
		return ""
	}
	return strings.Join(rule.Match.Hosts, " ")
}

// pairCounts has the numbers of twins of a host, so that only some of them are reported. A twin is a pair of rules
// with the same match. The value for the zero rivalKey is the number of twins whose two routes are in one namespace.
// The value for any other rivalKey is the number of twins between a route (Route) and the rules of another namespace
// (Other).
type pairCounts map[rivalKey]int

// rivalKey is a route, and another namespace whose rules match the same requests.
type rivalKey struct {
	Route manifest.Key
	Other string
}

// count counts a twin, a pair of rules with the same match, and reports whether users are shown the pair. For routes
// of two namespaces (see rivals), the result is false in these cases:
//   - One rule is below the other.
//   - Each of the two routes already had maxRivals twins with the namespace of the other route.
//
// Within one namespace, the result is false in these cases:
//   - One rule is a guard (ir.Rule.Guard).
//   - Both rules come from the same match of one route, which is below two chains of parents (see sameMatch).
//   - maxTwins twins within one namespace were counted already.
func (told pairCounts) count(t twin) bool {
	x, y, rivals := t.rivals()
	if !rivals {
		if t.First.Rule.Guard || t.Later.Rule.Guard || t.sameMatch() {
			return false
		}
		told[rivalKey{}]++
		return told[rivalKey{}] <= maxTwins
	}
	if route.IsBelow(t.First.Rule, t.Later.Rule) || route.IsBelow(t.Later.Rule, t.First.Rule) {
		return false
	}
	a, b := rivalKey{x, y.Namespace}, rivalKey{y, x.Namespace}
	told[a]++
	told[b]++
	return told[a] <= maxRivals || told[b] <= maxRivals
}

// rivals returns the two routes that compete for the requests of a twin. If the routes of the two rules are in
// different namespaces, x and y are these routes. Otherwise x and y are the first routes in which the delegation
// chains of the two rules, from the root down, differ (route.Parting). The result rivals is true if x and y are in
// different namespaces.
func (t twin) rivals() (x, y manifest.Key, rivals bool) {
	x, y = t.First.Rule.Source.Key, t.Later.Rule.Source.Key
	if x.Namespace != y.Namespace {
		return x, y, true
	}
	a, b := route.Parting(t.First.Rule, t.Later.Rule)
	return a.Route, b.Route, a.Route.Namespace != b.Route.Namespace
}

// sameMatch reports whether both rules come from the same match of the same route. That happens if two chains of
// parent routes lead to this route.
func (t twin) sameMatch() bool {
	return t.First.Rule.Source.Key == t.Later.Rule.Source.Key && matchField(t.First.Rule) == matchField(t.Later.Rule)
}

// signsIn reports whether one of the rules is for a callback or a logout.
func (t twin) signsIn() bool {
	return cmp.Or(t.First.Rule.SignIn, t.Later.Rule.SignIn) != (manifest.Key{})
}

// agree reports whether users need not care which of the two rules answers. That is so if one rule is for a
// callback or logout, and both rules belong to the same identity provider.
func (t twin) agree() bool {
	return t.signsIn() && providerOf(t.First.Rule) == providerOf(t.Later.Rule)
}
