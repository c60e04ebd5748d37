package plan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// Side is one of the two configurations.
type Side struct {
	View *ir.View
	// Problems are all problems, with their places.
	Problems []manifest.Problem
	// Objects are all valid objects. Compare reads only their keys and hashes.
	Objects []*manifest.Object
	// Resources are all Envoy resources.
	Resources []Resource
	// Places returns where fields are written, as store.Store.Places does. It is nil if places are not known.
	Places func([]manifest.Field) []store.Place
	// Judged is what became of the edits that lead to this configuration. It is nil for a configuration that is read as from
	// a cold start: objects with errors are missing there, of which a running gatefold keeps the version before.
	Judged *Judged
	// Stale are the objects of which a running gatefold serves the version before, although its folder has another one.
	Stale []manifest.Key
}

// comparison is the state of one Compare. In each pair of values, index 0 is before and index 1 is after.
type comparison struct {
	sides       [2]Side
	report      *Report
	budget      *budget
	effects     effectPair
	patterns    patterns
	sampler     *sampler
	expressions expressions
	objects     *objectChanges
	backends    *backendComparison
	actions     *actionComparison
	policies    *policyCounts
	whereabouts [2]func() *whereabouts  // where the rules of a side are; computed at the first call
	listeners   [2]map[string]*Resource // see listenerResource
	unclear     map[undecidedKey]bool   // the regions in Report.Undecided
	// requests and handling become the lists of the same names in the Report.
	requests, handling *changeGroups
}

// newComparison returns the state of a Compare before it has compared anything.
func newComparison(ctx context.Context, before, after Side) *comparison {
	c := &comparison{
		sides: [2]Side{before, after}, report: &Report{Requests: []Change{}}, budget: &budget{ctx: ctx, total: maxTotalSteps},
		effects: effectPair{newEffects(before.View), newEffects(after.View)}, patterns: patterns{}, expressions: expressions{},
		objects: newObjectChanges(before, after), unclear: map[undecidedKey]bool{}, requests: newChangeGroups(), handling: newChangeGroups(),
	}
	c.sampler = &sampler{patterns: c.patterns, budget: c.budget, known: map[sampleKey]samples{}}
	c.backends = &backendComparison{clusters: [2]map[string]*ir.Cluster{before.View.Clusters, after.View.Clusters}, effects: c.effects}
	c.actions = &actionComparison{effects: c.effects, backends: c.backends, objects: c.objects}
	c.policies = newPolicyCounts(c.effects)
	for side := range c.sides {
		c.whereabouts[side] = sync.OnceValue(func() *whereabouts { return newWhereabouts(c.sides[side].View) })
	}
	return c
}

// Compare returns what differs between two configurations. The search for example requests is limited: rules
// beyond the limit are Undecided. It returns an error only if ctx ends.
func Compare(ctx context.Context, before, after Side) (*Report, error) {
	c := newComparison(ctx, before, after)
	c.ports()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.report.Requests = append(c.report.Requests, c.requests.ranked()...)
	c.report.Handling = c.handling.ranked()
	unasked := maps.Clone(c.effects[0].unasked)
	maps.Copy(unasked, c.effects[1].unasked)
	c.report.Unasked = slices.Sorted(maps.Keys(unasked))
	c.report.Policies = c.policies.list()
	c.problems()
	if judged := after.Judged; judged != nil {
		c.report.Judged = *judged
	} else {
		c.report.Held = c.objects.heldEdits()
	}
	c.certificates()
	c.report.Objects = c.objects.list()
	c.resources()
	c.locate()
	c.report.summarize()
	return c.report, nil
}

// undecidedKey identifies a Region for which no example request was found. The field taker is the name of the Envoy
// route that gets the requests of the region in the new configuration. If the new configuration has no such route,
// taker is the route in the old configuration.
type undecidedKey struct {
	port                    portKey
	host, match, why, taker string
}

// undecided adds to Report.Undecided a region for which no example request was found, with the reason why. A
// region with the same undecidedKey is added only once.
func (c *comparison) undecided(region Region, why string) {
	region.Why = why
	taker := cmp.Or(region.After.Envoy(), region.Before.Envoy())
	key := undecidedKey{portKey{region.Gateway, region.Port, region.Scheme}, region.Host, region.Match, why, taker}
	if !c.unclear[key] {
		c.unclear[key] = true
		c.report.Undecided = append(c.report.Undecided, region)
	}
}

// portKey identifies a port of a Gateway.
type portKey struct {
	gateway string
	port    uint32
	scheme  string
}

func comparePortKeys(a, b portKey) int {
	return cmp.Or(cmp.Compare(a.gateway, b.gateway), cmp.Compare(a.port, b.port), cmp.Compare(a.scheme, b.scheme))
}

// region returns the Region for the rules of a pair on this port. host is a hostname, a wildcard or "*". match
// describes the requests in words.
func (k portKey) region(host string, p pair, match string) Region {
	return Region{
		Gateway: k.gateway, Port: k.port, Scheme: k.scheme, Host: host, Match: match,
		Before: ruleOf(p.before), After: ruleOf(p.after),
	}
}

// authority returns a host with the port. It leaves out the default port of the scheme.
func (k portKey) authority(host string) string {
	if k.scheme == "http" && k.port == 80 || k.scheme == "https" && k.port == 443 {
		return host
	}
	return fmt.Sprintf("%s:%d", host, k.port)
}

// portsOf returns all ports of a View by their keys.
func portsOf(view *ir.View) map[portKey]*ir.PortView {
	out := map[portKey]*ir.PortView{}
	for _, gateway := range view.Gateways {
		for i := range gateway.Ports {
			p := &gateway.Ports[i]
			out[portKey{gateway.Name, p.Port.Port, p.Port.Scheme()}] = p
		}
	}
	return out
}

// ports compares the ports of all Gateways, and adds the differences to the report.
func (c *comparison) ports() {
	before, after := portsOf(c.sides[0].View), portsOf(c.sides[1].View)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.SortedFunc(maps.Keys(keys), comparePortKeys) {
		p := &portPair{comparison: c, key: key, ports: [2]*ir.PortView{before[key], after[key]}}
		p.elsewhere = [2]*ir.PortView{otherScheme(before, key), otherScheme(after, key)}
		p.names = [2]*names{newNames(before[key]), newNames(after[key])}
		p.listener()
		p.streams()
		switch {
		case !isHTTP(key.scheme):
		case before[key] == nil || after[key] == nil:
			p.whole()
		default:
			p.hosts()
		}
	}
}

// otherScheme looks up a key in the ports of one configuration, with the scheme tls in place of https, or https in
// place of tls. It returns nil if the key has another scheme, or if there is no such port. Both schemes have the same
// Envoy listener (listen.PortName): the scheme is https if the port has HTTPS listeners, and tls if all its listeners
// are TLS. So a port can change between https and tls from one configuration to the other.
func otherScheme(ports map[portKey]*ir.PortView, key portKey) *ir.PortView {
	switch key.scheme {
	case "https":
		key.scheme = "tls"
	case "tls":
		key.scheme = "https"
	default:
		return nil
	}
	return ports[key]
}

func isHTTP(scheme string) bool { return scheme == "http" || scheme == "https" }

// portPair is a port of a Gateway before and after. One of the two ports may be nil.
type portPair struct {
	comparison *comparison
	key        portKey
	ports      [2]*ir.PortView
	names      [2]*names
	// elsewhere are the ports with the other scheme on the same Envoy listener, before and after; each may be
	// nil (see otherScheme). With them, a change between https and tls is reported as a change of one Envoy
	// listener, and not as one that is removed and one that is added.
	elsewhere [2]*ir.PortView
	// places and changed cache the results of portPlaces and changedNames.
	places  []Place
	changed []string
}

// portPlaces returns the places that explain a change of the port or its hostnames. These are the places of the
// listeners that only one side has, at most maxPlaces/10. If both sides have the same listeners, they are the places
// of these listeners, at most maxListed.
func (p *portPair) portPlaces() []Place {
	if p.places != nil {
		return p.places
	}
	type listener struct{ id, hostname string }
	var known [2]map[listener]bool
	for side, port := range p.ports {
		known[side] = map[listener]bool{}
		if port != nil {
			for _, l := range port.Port.Listeners {
				known[side][listener{l.ID(), l.Hostname}] = true
			}
		}
	}
	var all []Place
	for side, port := range p.ports {
		if port == nil {
			continue
		}
		for _, l := range port.Port.Listeners {
			at := Place{Source: explain.Source{Object: l.Object, Field: fmt.Sprintf("spec.listeners[%d]", l.Index)}, Before: side == 0}
			if all = append(all, at); !known[1-side][listener{l.ID(), l.Hostname}] {
				p.places = append(p.places, at)
			}
		}
	}
	if len(p.places) == 0 {
		all = currentFirst(all)
		p.places = all[:min(len(all), maxListed)]
	}
	p.places = p.places[:min(len(p.places), maxPlaces/10)]
	return p.places
}

// chain returns the name of the filter chain that Envoy uses for a TLS server name on one side (0 is before, 1 is
// after). On a port without TLS, the returned name is "". The result found is false if no filter chain fits (see
// explain.Chain).
func (p *portPair) chain(side int, serverName string) (chain string, found bool) {
	return explain.Chain(p.names[side].around(serverName), serverName)
}

// table returns the virtual host that gets requests for a hostname in a filter chain of one side. It returns
// nil if there is none (see explain.Table).
func (p *portPair) table(side int, chain, host string) *ir.HostView {
	shown := *p.ports[side]
	shown.Port = p.names[side].around(chain, host)
	return explain.Table(&shown, chain, host)
}

// leadsTo reports whether a server name selects the given filter chain on each side. On a side where found is
// false, the name must select no chain.
func (p *portPair) leadsTo(name string, chains [2]string, found [2]bool) bool {
	for side := range p.ports {
		if chain, ok := p.chain(side, name); ok != found[side] || chain != chains[side] {
			return false
		}
	}
	return true
}
