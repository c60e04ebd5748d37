package translate

import (
	"bytes"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// routesOut is a RouteConfiguration.
type routesOut struct {
	xds.Resource
	// Hosts are those of a table with compiled ones, else none.
	Hosts []*hostOut
}

type routeConfigIn struct {
	host    *memo.Rule[tableKey, *hostOut]
	gateway *memo.Rule[manifest.Key, *listen.Gateway]
}

// routeConfigRules gather the hosts of the RouteConfiguration of each chain.
type routeConfigRules struct {
	in          routeConfigIn
	hosts       *memo.Fold[chainKey, string, *hostOut, memo.Ordered[*hostOut]]
	misdirected *memo.Rule[chainKey, []xds.Host]
	routeConfig *memo.Rule[chainKey, routesOut]
}

func newRouteConfigRules(e *memo.Engine, in routeConfigIn) *routeConfigRules {
	r := &routeConfigRules{in: in}
	r.hosts = memo.NewFold[chainKey, string](e, "hosts", gather[string](compareDomains), memo.Ordered[*hostOut].Same)
	memo.From(r.hosts, in.host, func(key tableKey, host *hostOut, yield func(memo.Place[chainKey, string], *hostOut)) {
		if host != nil {
			yield(memo.Place[chainKey, string]{Key: key.chainKey, ID: key.Domain}, host)
		}
	}, identical)
	r.misdirected = memo.NewRule(e, "misdirected", r.runMisdirected, sameHosts)
	r.routeConfig = memo.NewRule(e, "routeconfig", r.runRouteConfig, sameRoutes)
	memo.Each(r.routeConfig, r.hosts)
	return r
}

// sameRoutes compares the linear forms, too: they have the routes that are in no leaf,
// and an order among those that no leaf has in common.
func sameRoutes(a, b routesOut) bool {
	return sameResource(a.Resource, b.Resource) && slices.EqualFunc(a.Hosts, b.Hosts, sameList)
}

// sameList reports whether two hosts encode to the same list of routes, if their frames are
// the same.
func sameList(a, b *hostOut) bool {
	if a == b || a.Table.Same(b.Table) {
		return true
	}
	return slices.EqualFunc(slices.Collect(a.Table.All()), slices.Collect(b.Table.All()), func(a, b *entry) bool {
		return a == b || bytes.Equal(a.Encoded, b.Encoded)
	})
}

// runMisdirected returns the hosts that answer 421 in a chain with TLS.
func (r *routeConfigRules) runMisdirected(c *memo.Ctx, key chainKey) (hosts []xds.Host) {
	if g := r.in.gateway.Get(c, ir.GatewayKey(key.Gateway)); g != nil {
		for _, host := range g.Misdirected(key.Port, key.Chain) {
			hosts = append(hosts, xds.Misdirected(host))
		}
	}
	return hosts
}

func sameHosts(a, b []xds.Host) bool { return slices.EqualFunc(a, b, xds.Host.Same) }

func (r *routeConfigRules) runRouteConfig(c *memo.Ctx, key chainKey) routesOut {
	set, _ := r.hosts.Get(c, key)
	hosts := make([]*hostOut, 0, set.Len())
	encoded := make([]xds.Host, 0, set.Len())
	compiled := false
	for host := range set.All() {
		hosts, encoded, compiled = append(hosts, host), append(encoded, host.Encoded), compiled || host.Compiled
	}
	if key.Chain != "" {
		encoded = append(encoded, r.misdirected.Get(c, key)...)
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
