package translate

import (
	"cmp"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// Envoy tries the regular expressions of a host one after the other, and a request of 8 KB costs milliseconds for each.
// So one namespace may have only so many on one host that one request makes Envoy try. An expression is tried for a
// path if its literal prefix, or the path of its match, is a prefix of that path.

const (
	// maxTried is how many expressions of a namespace one request may try on one host, where they have a common prefix
	// longer than "/". maxTriedAnywhere is the same for expressions without such a prefix, which every request tries.
	maxTried, maxTriedAnywhere = 64, 32
)

// attempt is how many regular expressions of one rule Envoy may try (see xds.Attempts) for a path with a prefix.
type attempt struct {
	Prefix          string
	Match, Policies int
}

// trial has the attempts of one node (flatKey), and the virtual hosts that contain them.
type trial struct {
	Node     flatKey
	Team     bool // the route is not in a file of cluster paths, and path policies are in force
	Tables   []tableKey
	Attempts []attempt
	Sum      int // of all Attempts
}

// compareTrials puts routes with fewer expressions first.
func compareTrials(a, b *trial) int {
	return cmp.Or(cmp.Compare(a.Sum, b.Sum), cmp.Compare(a.Node.path(), b.Node.path()), manifest.CompareKeys(a.Node.Route, b.Node.Route), cmp.Compare(a.Node.Port, b.Node.Port))
}

// share returns the key of the route's copies (see shareKey).
func (t *trial) share() shareKey {
	if t.Node.Via == "" {
		return shareKey{Root: t.Node.Route}
	}
	return shareKey{t.Node.root(), t.Node.Route}
}

// triedKey is a namespace on one virtual host.
type triedKey struct {
	tableKey
	Space string
}

// trials are the trials of one namespace on one virtual host.
type trials struct {
	Sum int
	All ordered.Set[*trial]
}

// overtried is a route with more expressions on one host than one request may try.
type overtried struct {
	Key   shareKey
	At    tableKey
	Tried int
	Limit int
	Team  bool
}

func compareOvertried(a, b overtried) int {
	return cmp.Or(compareShareKeys(a.Key, b.Key), compareTables(a.At, b.At), cmp.Compare(a.Tried, b.Tried))
}

type triedIn struct {
	*contestRules
	flat   *memo.Rule[flatKey, *flatOut]
	routes *servedRoutes
}

// triedRules find routes with more regular expressions than one request may try on one host.
type triedRules struct {
	in    triedIn
	trial *memo.Rule[flatKey, *trial]
	tried *memo.Fold[triedKey, flatKey, *trial, trials]
	over  *memo.Rule[triedKey, []overtried]
	all   *memo.Fold[struct{}, overtried, overtried, ordered.Set[overtried]]
}

func newTriedRules(e *memo.Engine, in triedIn) *triedRules {
	r := &triedRules{in: in}
	r.trial = memo.NewRule(e, "trial", r.runTrial, deepEqual)
	memo.EachOf(r.trial, in.admitted, func(key manifest.Key, attach *attachOut) (nodes []flatKey) {
		if route.IsStream(key) {
			return nil
		}
		for _, port := range attach.Ports {
			nodes = append(nodes, flatKey{Route: key, Port: port})
		}
		return nodes
	})
	r.tried = memo.NewFold[triedKey, flatKey](e, "tried", gatherTrials(), func(a, b trials) bool { return a.All.Same(b.All) })
	memo.From(r.tried, r.trial, func(key flatKey, t *trial, yield func(memo.Place[triedKey, flatKey], *trial)) {
		for _, table := range t.Tables {
			yield(memo.Place[triedKey, flatKey]{Key: triedKey{table, key.Route.Namespace}, ID: key}, t)
		}
	}, identical)
	r.over = memo.NewRule(e, "overtried", r.runOver, slices.Equal[[]overtried])
	memo.Each(r.over, r.tried)
	r.all = memo.NewFold[struct{}, overtried](e, "overtries", gather[overtried](compareOvertried), ordered.Set[overtried].Same)
	memo.From(r.all, r.over, func(_ triedKey, over []overtried, yield func(memo.Place[struct{}, overtried], overtried)) {
		for _, one := range over {
			yield(memo.Place[struct{}, overtried]{ID: one}, one)
		}
	}, identical)
	return r
}

// below adds the trials of delegated nodes. They follow the links and not the flat nodes that the trials read: a node
// would keep itself alive.
func (r *triedRules) below(link *memo.Rule[linkKey, *linkOut]) { memo.EachOf(r.trial, link, childOf) }

// gatherTrials returns the step function of the memo.Fold triedRules.tried.
func gatherTrials() func(trials, []memo.Member[flatKey, *trial]) trials {
	step := gather[flatKey](compareTrials)
	return func(so trials, members []memo.Member[flatKey, *trial]) trials {
		for _, m := range members {
			if m.Had {
				so.Sum -= m.Old.Sum
			}
			if m.Has {
				so.Sum += m.New.Sum
			}
		}
		return trials{so.Sum, step(so.All, members)}
	}
}

// runTrial returns the regular expressions of a node, and where they are tried. The result has no Tables if there are
// none.
func (r *triedRules) runTrial(c *memo.Ctx, key flatKey) *trial {
	out := &trial{Node: key}
	flat := r.in.flat.Get(c, key)
	object, ok := r.in.routes.Get(c, key.Route)
	if flat == nil || flat.Flat == nil || !ok {
		return out
	}
	for _, e := range flat.Entries {
		if match, policies := xds.Attempts(e.Rule); match+policies > 0 {
			out.Attempts = append(out.Attempts, attempt{xds.Prefix(&e.Rule.Match), match, policies})
			out.Sum += match + policies
		}
	}
	if out.Sum == 0 {
		return out
	}
	hosts := ir.EveryHost()
	if key.Via != "" {
		hosts = flat.Hosts
	}
	tables, guests := r.in.tablesOf(c, key, hosts)
	out.Tables, out.Team = slices.Concat(tables, guests), object.Source == manifest.OtherFile
	return out
}

// runOver returns the routes of a namespace whose expressions exceed what one request may try on a host. Shorter prefixes
// count first, and among equal ones the route with fewer expressions. So every result is a route without which the
// others are within the limit.
func (r *triedRules) runOver(c *memo.Ctx, key triedKey) (over []overtried) {
	all, _ := r.tried.Get(c, key)
	if all.Sum <= maxTriedAnywhere {
		return nil
	}
	type candidate struct {
		attempt
		by *trial
	}
	var candidates []candidate
	for t := range all.All.All() {
		for _, a := range t.Attempts {
			candidates = append(candidates, candidate{a, t})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(len(a.Prefix), len(b.Prefix)) })
	lost, tried := map[*trial]bool{}, newPrefixSums()
	for _, one := range candidates {
		limit := maxTried
		if len(one.Prefix) <= len("/") {
			limit = maxTriedAnywhere
		}
		if n := tried.above(one.Prefix) + one.Match + one.Policies; n > limit && !lost[one.by] {
			lost[one.by] = true
			over = append(over, overtried{one.by.share(), key.tableKey, n, limit, one.by.Team})
		}
		if !lost[one.by] {
			tried.add(one.Prefix, one.Match)
		}
	}
	slices.SortFunc(over, compareOvertried)
	return slices.Compact(over)
}

// prefixSums adds numbers by prefix.
type prefixSums struct {
	sums    map[string]int
	lengths []int // of all prefixes, in ascending order
}

func newPrefixSums() *prefixSums { return &prefixSums{sums: map[string]int{}} }

// add adds a number. Prefixes must come in the order of their lengths.
func (p *prefixSums) add(prefix string, n int) {
	if p.sums[prefix] += n; len(p.lengths) == 0 || p.lengths[len(p.lengths)-1] < len(prefix) {
		p.lengths = append(p.lengths, len(prefix))
	}
}

// above returns the sum of the numbers of all prefixes that a text begins with.
func (p *prefixSums) above(text string) (sum int) {
	for _, length := range p.lengths {
		if length <= len(text) {
			sum += p.sums[text[:length]]
		}
	}
	return sum
}
