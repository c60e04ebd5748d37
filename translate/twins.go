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

// Twins are rules of one virtual host that match the same requests: all but the first
// never serve.

const (
	// maxTwins is how many pairs of one namespace's rules are reported for a host.
	maxTwins = 100
	// maxRivals is how many pairs with the rules of one other namespace are reported for
	// a route on a host. Each route that has such a pair has one reported at least.
	maxRivals = 20
)

// groupTwins returns a function that finds groups of two or more entries with the same match, as
// bucket.Shape.Twins needs them. A guard behind the rules that it guards is left out.
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

// twinsAmong returns the entries of a group, all with one hash, that have the same match as the
// first. It leaves out guards of other entries among them that serve all hosts: a guard answers for
// a whole host after all its rules, so that it does not compete with them.
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

// twin is two entries of a host with the same match: Later never gets a request.
type twin struct{ First, Later *entry }

// hostsIn returns the hosts of a table that a rule serves, "" for all hosts.
func hostsIn(domain string, rule *ir.Rule) string {
	if len(rule.Match.Hosts) == 0 || listen.Covers(ir.HostsOf(rule.Match.Hosts...), domain) {
		return ""
	}
	return strings.Join(rule.Match.Hosts, " ")
}

// pairCounts counts the reported pairs of a host: for each route those with another namespace, and
// under the zero key those within one namespace.
type pairCounts map[rivalKey]int

type rivalKey struct {
	Route manifest.Key
	Other string
}

// count reports whether a pair is reported, and counts it.
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

// rivals returns the routes of two namespaces that compete for the same requests. They are the
// routes with the rules or, if these are in one namespace, the routes where the two chains part.
// rivals is false if no two namespaces compete.
func (t twin) rivals() (x, y manifest.Key, rivals bool) {
	x, y = t.First.Rule.Source.Key, t.Later.Rule.Source.Key
	if x.Namespace != y.Namespace {
		return x, y, true
	}
	a, b := route.Parting(t.First.Rule, t.Later.Rule)
	return a.Route, b.Route, a.Route.Namespace != b.Route.Namespace
}

// sameMatch reports whether both entries are one match that is reached in two ways.
func (t twin) sameMatch() bool {
	return t.First.Rule.Source.Key == t.Later.Rule.Source.Key && matchField(t.First.Rule) == matchField(t.Later.Rule)
}

// signsIn reports whether one of two rules is for a callback or a logout.
func (t twin) signsIn() bool {
	return cmp.Or(t.First.Rule.SignIn, t.Later.Rule.SignIn) != (manifest.Key{})
}

// agree reports whether a rule for a callback or a logout, and another of the same match, are of
// one identity provider: it does not matter which of them is first.
func (t twin) agree() bool {
	return t.signsIn() && providerOf(t.First.Rule) == providerOf(t.Later.Rule)
}
