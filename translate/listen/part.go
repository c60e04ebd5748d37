package listen

import (
	"reflect"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
)

// Part has the listeners that one object adds to a Gateway, after all conflicts are resolved. The object is the
// Gateway itself or one ListenerSet. The translation of a route reads only the Parts of its parentRefs. So an edit
// of one ListenerSet does not affect routes of other ListenerSets.
type Part struct {
	// Gateway is the "namespace/name" of the Gateway.
	Gateway string
	// Unusable is the reason why the Gateway serves nothing, or zero (Gateway.Unusable).
	Unusable manifest.Verdict[gwv1.GatewayConditionReason]
	// Listeners are in the order of the object. They must not be changed.
	Listeners []*Listener
	// Shared is parallel to Listeners. It is true for a listener if another listener of its port serves some of
	// its hosts.
	Shared []bool
}

// Part returns the listeners that one object (owner) adds to the Gateway. The parameter owner is the key of the
// Gateway itself or of a ListenerSet.
func (g *Gateway) Part(owner manifest.Key) *Part {
	out := &Part{Gateway: g.Name, Unusable: g.Unusable, Listeners: g.ListenersOf(owner)}
	out.Shared = make([]bool, len(out.Listeners))
	for i, l := range out.Listeners {
		out.Shared[i] = g.shared[l.claim()]
	}
	return out
}

// Named returns the listeners without duplicate names: of several listeners with one name, only the first. The
// status has one entry for each name.
func (p *Part) Named() []*Listener {
	var out []*Listener
	for _, l := range p.Listeners {
		if !slices.ContainsFunc(out, func(o *Listener) bool { return o.Name == l.Name }) {
			out = append(out, l)
		}
	}
	return out
}

// EnvoyNames returns the names of the Envoy listeners that serve the listeners of p. The keys are the names of the
// served listeners of p (Listener.Name).
func (p *Part) EnvoyNames() map[string]string {
	out := map[string]string{}
	for _, l := range p.Listeners {
		if l.Serves() {
			out[l.Name] = PortName(p.Gateway, l.Port, l.Protocol)
		}
	}
	return out
}

// span says where the listeners of one object are in Gateway.Listeners: in Listeners[begin:end].
type span struct{ begin, end int }

// index computes g.spans: where the listeners of each object are in g.Listeners.
func (g *Gateway) index() {
	g.spans = make(map[manifest.Key]span, len(g.Listeners))
	for i, l := range g.Listeners {
		at, known := g.spans[l.Owner]
		if !known {
			at.begin = i
		}
		at.end = i + 1
		g.spans[l.Owner] = at
	}
}

// indexHosts computes g.hosts, which has each served listener by its port and hostname (claim). It also
// computes g.shared: the wildcards that cover the hostname of a served listener.
func (g *Gateway) indexHosts() {
	g.hosts, g.shared = make(map[Place]*Listener, len(g.Listeners)), map[Place]bool{}
	for _, l := range g.Listeners {
		if !l.Serves() {
			continue
		}
		claim := l.claim()
		g.hosts[claim] = l
		for wider := range scope.Wildcards(claim.Domain) {
			claim.Domain = wider
			g.shared[claim] = true
		}
	}
}

// Same reports whether two Gateways are equal. It does not compare spans, hosts and shared, which follow from
// the rest.
func Same(a, b *Gateway) bool {
	if a == nil || b == nil {
		return a == b
	}
	left, right := *a, *b
	for _, g := range []*Gateway{&left, &right} {
		g.spans, g.hosts, g.shared = nil, nil, nil
	}
	return reflect.DeepEqual(left, right)
}

// owner returns the listener of a port that serves a domain: the most specific one (Gateway API, listener
// isolation). It returns nil if no listener serves the domain.
func (g *Gateway) owner(at Socket, domain string) *Listener {
	for host := range scope.Patterns(domain) {
		if l := g.hosts[Place{Port: at.Port, UDP: at.UDP, Domain: host}]; l != nil {
			return l
		}
	}
	return nil
}

// OwnerName returns the ID of the listener that serves a domain on a port. It returns "" if no listener serves
// the domain.
func (g *Gateway) OwnerName(at Socket, domain string) string {
	if l := g.owner(at, domain); l != nil {
		return l.ID()
	}
	return ""
}
