package listen

import (
	"reflect"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Part is one object's part of a Gateway: the listeners of the Gateway itself or of one
// ListenerSet, after all conflicts are resolved. Rules of a route read only the part that the route
// names. So an edit of one ListenerSet does not affect routes of others.
type Part struct {
	// Gateway is "namespace/name".
	Gateway string
	// Unusable is Gateway.Unusable.
	Unusable manifest.Verdict[gwv1.GatewayConditionReason]
	// Listeners are in the order of the object. They must not be changed.
	Listeners []*Listener
	// Shared is true for a listener if another listener of its port serves some of its hosts.
	Shared []bool
}

// Part returns the listeners of one object: of the Gateway, or of a ListenerSet.
func (g *Gateway) Part(owner manifest.Key) *Part {
	out := &Part{Gateway: g.Name, Unusable: g.Unusable, Listeners: g.ListenersOf(owner)}
	out.Shared = make([]bool, len(out.Listeners))
	for i, l := range out.Listeners {
		out.Shared[i] = g.shared[l.claim()]
	}
	return out
}

// Named returns the listeners, one for each name: the status has one entry for each name.
func (p *Part) Named() []*Listener {
	var out []*Listener
	for _, l := range p.Listeners {
		if !slices.ContainsFunc(out, func(o *Listener) bool { return o.Name == l.Name }) {
			out = append(out, l)
		}
	}
	return out
}

// EnvoyNames returns the name of the Envoy listener that serves each listener.
func (p *Part) EnvoyNames() map[string]string {
	out := map[string]string{}
	for _, l := range p.Listeners {
		if l.Serves() {
			out[l.Name] = PortName(p.Gateway, l.Port, l.Protocol)
		}
	}
	return out
}

// span is the range of one object's listeners in the list of the Gateway.
type span struct{ begin, end int }

// index computes the span of each object's listeners.
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

// indexHosts indexes which listener serves which host of a port, and which hosts are shared.
func (g *Gateway) indexHosts() {
	g.hosts, g.shared = make(map[Place]*Listener, len(g.Listeners)), map[Place]bool{}
	for _, l := range g.Listeners {
		if !l.Serves() {
			continue
		}
		claim := l.claim()
		g.hosts[claim] = l
		for _, wider := range wildcards(claim.Domain) {
			claim.Domain = wider
			g.shared[claim] = true
		}
	}
}

// Same reports whether two Gateways are equal. It does not compare indexes, which follow from
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

// owner returns the listener of a port that serves a domain: the most specific
// one (Gateway API, listener isolation).
func (g *Gateway) owner(at Socket, domain string) *Listener {
	for _, host := range append([]string{domain}, wildcards(domain)...) {
		if l := g.hosts[Place{Port: at.Port, UDP: at.UDP, Domain: host}]; l != nil {
			return l
		}
	}
	return nil
}

// OwnerName returns the ID of the listener that serves a domain on a port, "" for none.
func (g *Gateway) OwnerName(at Socket, domain string) string {
	if l := g.owner(at, domain); l != nil {
		return l.ID()
	}
	return ""
}
