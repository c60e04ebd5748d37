package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// listener reports how the Envoy listener of a port differs, and the Gateway's listeners whose connections Envoy
// drains. It reports nothing if the Envoy listener is unchanged or unknown. If the port changed from https to tls
// or back, the same Envoy listener belongs to two portPairs, one for each scheme. Then only the portPair of the new
// scheme reports it.
func (p *portPair) listener() {
	before, after := p.ports[0], p.ports[1]
	if after == nil && p.elsewhere[1] != nil {
		return // the port with the other scheme reports the Envoy listener
	}
	if before == nil {
		before = p.elsewhere[0]
	}
	one := ListenerChange{Kind: kindOf(before != nil, after != nil), Gateway: p.key.gateway, Port: p.key.port, Scheme: p.key.scheme}
	switch {
	case after == nil:
		one.Envoy, one.Drains = before.Port.Name, true
		one.Draining = listenersOf(before.Port, nil)
	case before == nil:
		one.Envoy = after.Port.Name
	default:
		one.Envoy = after.Port.Name
		x, y := p.listenerResource(0, before.Port), p.listenerResource(1, after.Port)
		if x == nil || y == nil || x.Version == y.Version {
			return
		}
		one.What = listenerWords(p.comparison.effects, before.Port, after.Port)
		chains, all := drained(x, y)
		if one.Drains = all || len(chains) > 0; all {
			one.Draining = listenersOf(before.Port, nil)
		} else if one.Drains {
			one.Draining = listenersOf(before.Port, chains)
		}
	}
	report := p.comparison.report
	report.Listeners = append(report.Listeners, one)
}

// listenerResource returns the Envoy listener of a port of one side. It returns nil if the side has no resource
// for the port.
func (p *portPair) listenerResource(side int, port *ir.Port) *Resource {
	c := p.comparison
	if c.listeners[side] == nil {
		c.listeners[side] = map[string]*Resource{}
		resources := c.sides[side].Resources
		for i := range resources {
			if r := &resources[i]; r.Type == xds.ListenerType {
				c.listeners[side][r.Gateway+" "+r.Name] = r
			}
		}
	}
	return c.listeners[side][port.Gateway+" "+port.Name]
}

// drained compares the old version of an Envoy listener (the parameter before) with the new version (after). It
// returns the filter chains that only the old version has: Envoy drains their connections. The result all is true if
// Envoy drains all connections of the listener. This is the case if anything other than the filter chains differs, if
// the content of a version is unknown, or if the new version has no filter chains (UDP).
func drained(before, after *Resource) (chains []ChainSum, all bool) {
	x, y := before.Sums(), after.Sums()
	if x == nil || y == nil || len(y.Chains) == 0 {
		return nil, true
	}
	known := map[string]bool{}
	for _, chain := range y.Chains {
		known[chain.Sum] = true
	}
	for _, chain := range x.Chains {
		if !known[chain.Sum] {
			chains = append(chains, chain)
		}
	}
	return chains, x.Rest != y.Rest
}

// listenersOf returns the names of those Gateway listeners of a port that the given filter chains belong to. It
// finds them by the server names of the chains. It returns all listeners of the port if chains is nil, or if
// the port serves HTTP without TLS.
func listenersOf(port *ir.Port, chains []ChainSum) (out []string) {
	hostnames := map[string]bool{}
	for _, chain := range chains {
		names := chain.ServerNames
		if len(names) == 0 {
			names = []string{"*"}
		}
		for _, name := range names {
			hostnames[name] = true
		}
	}
	ids := map[string]bool{}
	for _, s := range port.Streams {
		for _, domain := range append(slices.Clone(s.Domains), "*")[:max(1, len(s.Domains))] {
			if hostnames[domain] {
				ids[s.Listener] = true
			}
		}
	}
	for _, l := range port.Listeners {
		if chains == nil || ids[l.ID()] || hostnames[cmp.Or(l.Hostname, "*")] || !port.Secure() && len(port.Chains) > 0 {
			out = append(out, l.ID())
		}
	}
	return out
}

// listenerWords returns, in words, how an Envoy listener differs. It returns "" if it finds no difference.
func listenerWords(effects effectPair, before, after *ir.Port) string {
	var words []string
	add := func(differs bool, text string) {
		if differs {
			words = append(words, text)
		}
	}
	add(!slices.Equal(before.Addresses, after.Addresses), "addresses "+orNone(after.Addresses)+"; before: "+orNone(before.Addresses))
	names := func(port *ir.Port) (out []string) {
		for _, chain := range port.Chains {
			out = append(out, cmp.Or(chain.Name, "*"))
		}
		return out
	}
	x, y := names(before), names(after)
	if !slices.Equal(x, y) {
		words = append(words, cmp.Or(listDetails("hostnames", x, y), "the order of hostnames"))
	}
	a, b := before.Settings, after.Settings
	add(a.AccessLog != b.AccessLog, fmt.Sprintf("access log %s; before: %s", cmp.Or(b.AccessLog, "json"), cmp.Or(a.AccessLog, "json")))
	add(a.ProxyProtocol != b.ProxyProtocol, fmt.Sprintf("PROXY protocol %t; before: %t", b.ProxyProtocol, a.ProxyProtocol))
	add(a.TrustedHops != b.TrustedHops, fmt.Sprintf("trusted hops %d; before: %d", b.TrustedHops, a.TrustedHops))
	add(slices.Equal(x, y) && !effects.same(before.Chains, after.Chains), "TLS settings or certificates")
	add(!effects.same(streamsAlone(before), streamsAlone(after)), "connections of TCP, TLS or UDP")
	return strings.Join(words, ", ")
}

// streamsAlone returns what listenerWords compares about the streams of a port. For each stream, the list has two
// values: how connections are handled (the result of streamEffect), and the domains.
func streamsAlone(port *ir.Port) (out []any) {
	for i := range port.Streams {
		out = append(out, streamEffect(&port.Streams[i]), port.Streams[i].Domains)
	}
	return out
}
