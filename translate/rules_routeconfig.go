package translate

import (
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/xds"
)

type routeConfigIn struct {
	*gatewayRules
	host *memo.Rule[tableKey, *hostOut]
}

// routeConfigRules collect the virtual hosts of each RouteConfiguration.
type routeConfigRules struct {
	in          routeConfigIn
	hosts       *memo.Fold[chainKey, string, *hostOut, ordered.Set[*hostOut]]
	tlsNames    *memo.Rule[portKey, *listen.TLSNames]
	misdirected *memo.Rule[chainKey, []xds.Host]
	routeConfig *memo.Rule[chainKey, xds.Resource]
}

func newRouteConfigRules(e *memo.Engine, in routeConfigIn) *routeConfigRules {
	r := &routeConfigRules{in: in}
	r.hosts = memo.NewFold[chainKey, string](e, "hosts", gather[string](compareDomains), ordered.Set[*hostOut].Same)
	memo.From(r.hosts, in.host, func(key tableKey, host *hostOut, yield func(memo.Place[chainKey, string], *hostOut)) {
		if host != nil {
			yield(memo.Place[chainKey, string]{Key: key.chainKey, ID: key.Domain}, host)
		}
	}, identical)
	r.tlsNames = memo.NewRule(e, "tlsnames", r.runTLSNames, (*listen.TLSNames).Same)
	r.misdirected = memo.NewRule(e, "misdirected", r.runMisdirected, sameHosts)
	r.routeConfig = memo.NewRule(e, "routeconfig", r.runRouteConfig, sameResource)
	memo.Each(r.routeConfig, r.hosts)
	return r
}

// runTLSNames returns the hostnames of the TLS listeners on a port, nil for UDP and for a Gateway that gatefold
// does not serve.
func (r *routeConfigRules) runTLSNames(c *memo.Ctx, key portKey) *listen.TLSNames {
	if g := r.in.gateway.Get(c, ir.GatewayKey(key.Gateway)); g != nil && !key.UDP {
		return g.TLSNames(key.Port)
	}
	return nil
}

// runMisdirected returns the virtual hosts that answer 421 in a filter chain with TLS, because another chain
// serves their hosts.
func (r *routeConfigRules) runMisdirected(c *memo.Ctx, key chainKey) (hosts []xds.Host) {
	for _, host := range r.tlsNames.Get(c, key.portKey).Misdirected(key.Chain) {
		hosts = append(hosts, xds.Misdirected(host))
	}
	return hosts
}

func sameHosts(a, b []xds.Host) bool { return slices.EqualFunc(a, b, xds.Host.Same) }

// runRouteConfig returns the RouteConfiguration of a filter chain, with its virtual hosts.
func (r *routeConfigRules) runRouteConfig(c *memo.Ctx, key chainKey) xds.Resource {
	set, _ := r.hosts.Get(c, key)
	hosts := make([]xds.Host, 0, set.Len())
	for host := range set.All() {
		hosts = append(hosts, host.Encoded)
	}
	if key.Chain != "" {
		hosts = append(hosts, r.misdirected.Get(c, key)...)
	}
	return xds.RouteConfiguration(r.in.tableName(c, key), hosts)
}
