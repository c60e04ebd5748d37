package translate

import (
	"bytes"
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
	// Compiled tells that Encoded is no list of the routes.
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

// routesOut is a RouteConfiguration.
type routesOut struct {
	xds.Resource
	// Hosts are those of a table with compiled ones, else none.
	Hosts []*hostOut
}

// sameRoutes compares the linear forms, too: they have the routes that are in no leaf,
// and an order among those that no leaf has in common.
func sameRoutes(a, b routesOut) bool {
	return sameResource(a.Resource, b.Resource) && slices.EqualFunc(a.Hosts, b.Hosts, sameList)
}

// sameList tells whether two hosts encode to the same list of routes, if their frames are
// the same.
func sameList(a, b *hostOut) bool {
	if a == b || a.Table.Same(b.Table) {
		return true
	}
	return slices.EqualFunc(slices.Collect(a.Table.All()), slices.Collect(b.Table.All()), func(a, b *entry) bool {
		return a == b || bytes.Equal(a.Encoded, b.Encoded)
	})
}

func (n *network) declareTables(e *memo.Engine) {
	n.table = memo.NewFold[tableKey, string, *entry](e, "table", n.tableStep(), sameTable)
	memo.From(n.table, n.mount, func(route manifest.Key, m *mountOut, yield func(memo.Place[tableKey, string], *entry)) {
		m.tables(func(key tableKey, flat *flatOut) {
			for _, e := range m.placed.in(key, flat.Entries) {
				yield(memo.Place[tableKey, string]{Key: key, ID: e.Rule.Name}, e)
			}
			if len(flat.Entries) == 0 {
				yield(memo.Place[tableKey, string]{Key: key, ID: mark + route.String()}, nil)
			}
		})
	}, sameEntry)
	memo.From(n.table, n.graft, func(_ flatKey, g *graftOut, yield func(memo.Place[tableKey, string], *entry)) {
		for _, key := range g.Tables {
			for _, e := range g.placed.in(key, g.Entries) {
				yield(memo.Place[tableKey, string]{Key: key, ID: e.Rule.Name}, e)
			}
		}
	}, sameEntry)
	memo.From(n.table, n.gateway, markHosts, sameEntry)

	n.claimed = memo.NewFold[tableKey, string](e, "claimed", count[string], identical[int])
	memo.From(n.claimed, n.mount, func(key manifest.Key, m *mountOut, yield func(memo.Place[tableKey, string], struct{})) {
		m.tables(func(table tableKey, _ *flatOut) {
			yield(memo.Place[tableKey, string]{Key: table, ID: key.String()}, struct{}{})
		})
	}, identical)
	memo.From(n.claimed, n.gateway, func(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[tableKey, string], struct{})) {
		markHosts(manifest.Key{}, g, func(at memo.Place[tableKey, string], _ *entry) { yield(at, struct{}{}) })
	}, identical)

	n.host = memo.NewRule(e, "host", n.runHost, sameHost)
	memo.Each(n.host, n.table)
	n.declareShadowed(e)
	n.declareHosts(e)
	n.misdirected = memo.NewRule(e, "misdirected", n.runMisdirected, sameHosts)
	n.routeConfig = memo.NewRule(e, "routeconfig", n.runRouteConfig, sameRoutes)
	memo.Each(n.routeConfig, n.hosts)
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

// runHost gives nil for a host that has guests alone (see tablesOf): no virtual
// host may take its requests away from a wider one.
func (n *network) runHost(c *memo.Ctx, key tableKey) *hostOut {
	if claims, _ := n.claimed.Get(c, key); claims == 0 {
		return nil
	}
	table, _ := n.table.Get(c, key)
	out := &hostOut{Key: key, Table: table.rules, Policy: n.hostPolicyOf(c, key)}
	leaves := table.leaves()
	out.Rejected = n.rejectionOf(c, key, out.extras())
	if out.Compiled = leaves != nil; out.Compiled {
		out.Encoded = xds.CompiledHost(key.Domain, out.extras(), leaves)
		out.OnePaths = table.onePaths()
		out.Twins = table.tree.Twins()
	} else {
		out.Encoded = out.linear()
		out.Twins = n.groupTwins(slices.Collect(out.Table.All()))
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

// declareHosts gathers the hosts of each chain's RouteConfiguration.
func (n *network) declareHosts(e *memo.Engine) {
	n.hosts = memo.NewFold[chainKey, string](e, "hosts", gather[string](compareDomains), memo.Ordered[*hostOut].Same)
	memo.From(n.hosts, n.host, func(key tableKey, host *hostOut, yield func(memo.Place[chainKey, string], *hostOut)) {
		if host != nil {
			yield(memo.Place[chainKey, string]{Key: key.chainKey, ID: key.Domain}, host)
		}
	}, identical)
}

// runMisdirected gives the hosts that answer 421 in a chain with TLS.
func (n *network) runMisdirected(c *memo.Ctx, key chainKey) (hosts []xds.Host) {
	if g := n.gateway.Get(c, ir.GatewayKey(key.Gateway)); g != nil {
		for _, host := range g.Misdirected(key.Port, key.Chain) {
			hosts = append(hosts, xds.Misdirected(host))
		}
	}
	return hosts
}

func sameHosts(a, b []xds.Host) bool { return slices.EqualFunc(a, b, xds.Host.Same) }

func (n *network) runRouteConfig(c *memo.Ctx, key chainKey) routesOut {
	set, _ := n.hosts.Get(c, key)
	hosts := make([]*hostOut, 0, set.Len())
	encoded := make([]xds.Host, 0, set.Len())
	compiled := false
	for host := range set.All() {
		hosts, encoded, compiled = append(hosts, host), append(encoded, host.Encoded), compiled || host.Compiled
	}
	if key.Chain != "" {
		encoded = append(encoded, n.misdirected.Get(c, key)...)
	}
	out := routesOut{Resource: xds.RouteConfiguration(key.name(), encoded)}
	if compiled {
		out.Hosts = hosts
		out.Linear = func() xds.Resource { return linearTable(key.name(), hosts, encoded) }
	}
	return out
}

// linearTable is a table with the compiled ones of its hosts as lists. encoded has hosts,
// and others behind them.
func linearTable(name string, hosts []*hostOut, encoded []xds.Host) xds.Resource {
	encoded = slices.Clone(encoded)
	for i, host := range hosts {
		if host.Compiled {
			encoded[i] = host.linear()
		}
	}
	return xds.RouteConfiguration(name, encoded)
}
