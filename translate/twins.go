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
	// maxTwins is the number of pairs within single namespaces that are reported for a host.
	maxTwins = 100
	// maxRivals is the number of pairs of a route with rules of one other namespace that are reported for a
	// host. For each route that has such pairs, at least one is reported.
	maxRivals = 20
)

// groupTwins returns a function for bucket.Shape.Twins, which returns the groups of two or more entries with
// the same match. It omits a guard that comes after the rules that it guards. seed is for hashes of matches.
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

// twinsAmong returns the entries of a group that have the same match as the first entry. All entries of the
// group have the same hash. A guard answers for a whole host after the rules below it. So twinsAmong omits a
// guard if the group has a rule below it that serves all hosts. It also omits rules with weightOfClosed.
func twinsAmong(group []*entry) []*entry {
	guarded := map[string]bool{} // names of rules that have a child in the group
	for _, e := range group {
		if at := strings.LastIndexByte(e.Rule.Name, '>'); at >= 0 && len(e.Rule.Match.Hosts) == 0 {
			guarded[e.Rule.Name[:at]] = true
		}
	}
	return slices.DeleteFunc(group, func(e *entry) bool {
		return !route.SameRequests(group[0].Rule, e.Rule) || e.Rule.Guard && guarded[e.Rule.Name] || e.Rule.Weight == weightOfClosed
	})
}

// twin is a pair of entries of a host with the same match. Later never gets a request.
type twin struct{ First, Later *entry }

// hostsIn returns the hosts of domain that a rule serves, as text. It returns "" if the rule serves all
// requests of domain.
func hostsIn(domain string, rule *ir.Rule) string {
	if len(rule.Match.Hosts) == 0 || listen.Covers(ir.HostsOf(rule.Match.Hosts...), domain) {
		return ""
	}
	return strings.Join(rule.Match.Hosts, " ")
}

// pairCounts counts the reported pairs of a host. The zero key has the pairs within single namespaces. The
// other keys have the pairs of a route with another namespace.
type pairCounts map[rivalKey]int

// rivalKey is a route and another namespace.
type rivalKey struct {
	Route manifest.Key
	Other string
}

// count counts a pair, and reports whether the pair is reported to users. If the routes of the pair are in two
// namespaces (rivals), the result is false if one rule is a guard and the other is below it, or if both routes
// have more than maxRivals pairs. Within one namespace, it is false for any guard, for pairs with sameMatch,
// and above maxTwins.
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

// rivals returns two routes of different namespaces that compete for the same requests by this pair of rules.
// If the rules are of routes in different namespaces, it returns these routes. Otherwise it returns the routes
// at the first step where the two ways from the root differ (route.Parting). The result rivals is false if
// these two are in one namespace, too.
func (t twin) rivals() (x, y manifest.Key, rivals bool) {
	x, y = t.First.Rule.Source.Key, t.Later.Rule.Source.Key
	if x.Namespace != y.Namespace {
		return x, y, true
	}
	a, b := route.Parting(t.First.Rule, t.Later.Rule)
	return a.Route, b.Route, a.Route.Namespace != b.Route.Namespace
}

// sameMatch reports whether both entries come from the same match of a route, by two chains of parents.
func (t twin) sameMatch() bool {
	return t.First.Rule.Source.Key == t.Later.Rule.Source.Key && matchField(t.First.Rule) == matchField(t.Later.Rule)
}

// signsIn reports whether one of the rules is for a callback or a logout.
func (t twin) signsIn() bool {
	return cmp.Or(t.First.Rule.SignIn, t.Later.Rule.SignIn) != (manifest.Key{})
}

// agree reports whether one of the rules is for a callback or a logout, and both belong to the same identity
// provider. The order of the two does then not matter.
func (t twin) agree() bool {
	return t.signsIn() && providerOf(t.First.Rule) == providerOf(t.Later.Rule)
}
