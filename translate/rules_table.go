package translate

import (
	"hash/maphash"
	"reflect"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// hostOut is one virtual host.
type hostOut struct {
	Key     tableKey
	Encoded xds.Host
	// Compiled is true if Encoded is no list of the routes.
	Compiled bool
	Table    memo.Ordered[*entry]
	// OnePaths are rules of one path that are many.
	OnePaths []onePath
	// Twins are groups of rules that match the same requests.
	Twins [][]*entry
	// Policy holds for the routes that say nothing themselves, nil for none.
	Policy *hostPolicy
	// Rejected is what every connected Envoy said that rejected the host, nil for nothing.
	Rejected *Refusal
}

func sameHost(a, b *hostOut) bool {
	return a == b || a != nil && b != nil && a.Policy == b.Policy && reflect.DeepEqual(a.Rejected, b.Rejected) && a.Table.Same(b.Table) && a.Encoded.Same(b.Encoded)
}

func compareDomains(a, b *hostOut) int { return strings.Compare(a.Key.Domain, b.Key.Domain) }

func sameResource(a, b xds.Resource) bool { return a.Version == b.Version }

type tableIn struct {
	*hostPolicyRules
	gateway    *memo.Rule[manifest.Key, *listen.Gateway]
	mount      *memo.Rule[manifest.Key, *mountOut]
	graft      *memo.Rule[flatKey, *graftOut]
	quarantine *quarantineInputs
}

// tableRules make the virtual hosts.
type tableRules struct {
	in         tableIn
	table      *memo.Fold[tableKey, string, *entry, table]
	claimed    *memo.Fold[tableKey, string, struct{}, int]
	host       *memo.Rule[tableKey, *hostOut]
	groupTwins func([]*entry) [][]*entry // in the order of a table
}

func newTableRules(e *memo.Engine, in tableIn) *tableRules {
	r := &tableRules{in: in}
	r.groupTwins = groupTwins(maphash.MakeSeed())
	r.table = memo.NewFold[tableKey, string, *entry](e, "table", r.tableStep(), sameTable)
	memo.From(r.table, in.mount, func(route manifest.Key, m *mountOut, yield func(memo.Place[tableKey, string], *entry)) {
		m.tables(func(key tableKey, flat *flatOut) {
			for _, e := range m.placed.in(key, flat.Entries) {
				yield(memo.Place[tableKey, string]{Key: key, ID: e.Rule.Name}, e)
			}
			if len(flat.Entries) == 0 {
				yield(memo.Place[tableKey, string]{Key: key, ID: mark + route.String()}, nil)
			}
		})
	}, sameEntry)
	memo.From(r.table, in.graft, func(_ flatKey, g *graftOut, yield func(memo.Place[tableKey, string], *entry)) {
		for _, key := range g.Tables {
			for _, e := range g.placed.in(key, g.Entries) {
				yield(memo.Place[tableKey, string]{Key: key, ID: e.Rule.Name}, e)
			}
		}
	}, sameEntry)
	memo.From(r.table, in.gateway, markHosts, sameEntry)

	r.claimed = memo.NewFold[tableKey, string](e, "claimed", count[string], identical[int])
	memo.From(r.claimed, in.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[tableKey, string], struct{})) {
		m.tables(func(table tableKey, _ *flatOut) {
			yield(memo.Place[tableKey, string]{Key: table, ID: key.String()}, struct{}{})
		})
	}, identical)
	memo.From(r.claimed, in.gateway, func(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[tableKey, string], struct{})) {
		markHosts(manifest.Key{}, g, func(at memo.Place[tableKey, string], _ *entry) { yield(at, struct{}{}) })
	}, identical)

	r.host = memo.NewRule(e, "host", r.runHost, sameHost)
	memo.Each(r.host, r.table)
	return r
}

func (r *tableRules) report(all *problemFold) {
	problemsFrom(all, "host", r.host, onePathProblems)
}

// mark begins the ID of a member without a rule. It keeps a host from wider ones
// that a listener claims, or a route of which nothing stands there itself: the
// host exists, and answers 404.
const mark = "mark "

// markHosts puts a mark into the table of every host that a listener claims.
func markHosts(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[tableKey, string], *entry)) {
	if g == nil {
		return
	}
	for _, place := range g.Places() {
		yield(memo.Place[tableKey, string]{Key: tableOf(g.Name, place), ID: mark}, nil)
	}
}

// tableOf names the table of a place of a Gateway.
func tableOf(gateway string, at listen.Place) tableKey {
	return tableKey{chainKey{portKey{gateway, at.Port, at.UDP}, at.Chain}, at.Domain}
}

// runHost returns nil for a host that has guests alone (see tablesOf): no virtual
// host may take its requests away from a wider one.
func (r *tableRules) runHost(c *memo.Ctx, key tableKey) *hostOut {
	if claims, _ := r.claimed.Get(c, key); claims == 0 {
		return nil
	}
	table, _ := r.table.Get(c, key)
	out := &hostOut{Key: key, Table: table.rules, Policy: r.in.hostPolicyOf(c, key)}
	leaves := table.leaves()
	out.Rejected = r.rejectionOf(c, key, out.extras())
	if out.Compiled = leaves != nil; out.Compiled {
		out.Encoded = xds.CompiledHost(key.Domain, out.extras(), leaves)
		out.OnePaths = table.onePaths()
		out.Twins = table.tree.Twins()
	} else {
		out.Encoded = out.linear()
		out.Twins = r.groupTwins(slices.Collect(out.Table.All()))
	}
	return out
}

// extras are those that the host holds for its routes.
func (h *hostOut) extras() *ir.Extras {
	if h.Policy == nil {
		return nil
	}
	return h.Policy.Extras
}

// linear encodes the host with its routes as one list.
func (h *hostOut) linear() xds.Host {
	routes := make([][]byte, 0, h.Table.Len())
	for e := range h.Table.All() {
		routes = append(routes, e.Encoded)
	}
	return xds.VirtualHost(h.Key.Domain, h.extras(), routes)
}
