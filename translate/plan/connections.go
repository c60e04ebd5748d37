package plan

import (
	"cmp"
	"fmt"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// streams reports TLS, TCP and UDP connections that the two sides handle differently.
func (p *portPair) streams() {
	names := map[string]bool{}
	scheme, all := "tcp", false
	for _, port := range p.ports {
		if port == nil {
			continue
		}
		if port.Port.UDP {
			scheme = "udp"
		}
		for _, s := range port.Port.Streams {
			for _, domain := range s.Domains {
				names[domain] = true
			}
			all = all || s.Domains == nil
		}
	}
	if all {
		p.connections(scheme, "*", "any.example")
	}
	if len(names) == 0 {
		return
	}
	for _, name := range p.changedNames() { // HTTPS may take the connections of a wildcard
		names[name] = true
	}
	taken := func(pattern string) bool { return names[pattern] || p.names[0].has(pattern) || p.names[1].has(pattern) }
	for _, name := range sorted(names) {
		p.connections("tls", name, memberOf(name, taken))
	}
}

// connections compares how the two sides handle the connections for one name. The parameter name is a server name,
// a wildcard, or "*" for connections without TLS. If the ir.Streams of the two sides handle these connections
// differently, connections adds a change to the report: under Requests if some client gets another answer,
// otherwise under Handling. The parameter host is a hostname that the name covers. It is used in the example of
// the change.
func (p *portPair) connections(scheme, name, host string) {
	streams := streamPair{port: p}
	_, streams.before = p.connection(0, explain.Query{Scheme: scheme, Host: host})
	_, streams.after = p.connection(1, explain.Query{Scheme: scheme, Host: host})
	if streams.same() {
		return
	}
	streams.countAccess()
	match := map[bool]string{true: "every datagram", false: "every connection"}[scheme == "udp"]
	if s := cmp.Or(streams.after, streams.before); s != nil {
		match += " to listener " + s.Listener
	}
	region := p.key.region(name, pair{}, match)
	region.Scheme = scheme
	reasons := streams.reasons()
	var plain *Change
	queries := []explain.Query{{Scheme: scheme, Host: host}}
	for _, from := range clients(admissionOf(aclOf(streams.before), nil), admissionOf(aclOf(streams.after), nil)) {
		queries = append(queries, explain.Query{Scheme: scheme, Host: host, From: from})
	}
	for _, q := range queries {
		one := &Change{Regions: []Region{region}, Example: Example{URL: fmt.Sprintf("%s://%s:%d", scheme, host, p.key.port)}, Reasons: reasons}
		if q.From.IsValid() {
			one.Example.From = q.From.String()
		}
		one.Before, _ = p.connection(0, q)
		one.After, _ = p.connection(1, q)
		if !one.Before.sameAs(one.After) {
			p.comparison.requests.add(one)
			return
		}
		if plain == nil {
			plain = one
		}
	}
	p.comparison.handling.add(plain)
}

// connection returns the answer that one of the two configurations gives to a connection, and the ir.Stream of the
// connection. The parameter side is 0 for the old configuration, and 1 for the new configuration. The Stream is nil
// if no TCP, TLS or UDP listener accepts the connection.
func (p *portPair) connection(side int, q explain.Query) (Answer, *ir.Stream) {
	if p.ports[side] == nil {
		return Answer{Outcome: explain.NoListener}, nil
	}
	q.Gateway, q.Port = p.key.gateway, p.key.port
	clusters := p.comparison.sides[side].View.Clusters
	port := ir.PortView{Port: p.names[side].around(q.Host)}
	view := &ir.View{Clusters: clusters, Gateways: []ir.GatewayView{{Name: q.Gateway, Ports: []ir.PortView{port}}}}
	a := explain.Connection(view, q)
	switch {
	case a.Stream == nil && q.Scheme == "tls" && port.Port.Secure():
		if chain, found := explain.Chain(port.Port, q.Host); found {
			return Answer{Outcome: explain.NoListener, Reason: "HTTPS for " + cmp.Or(chain, "every name") + " has the connections"}, nil
		}
		return Answer{Outcome: explain.NoListener}, nil
	case a.Stream == nil:
		return Answer{Outcome: explain.NoListener}, nil
	case a.Denied != "":
		return Answer{Outcome: explain.Closed, Reason: a.Denied}, a.Stream
	case a.Stream.Route == nil:
		return Answer{Outcome: explain.Closed, Reason: "no route has the connections"}, a.Stream
	case len(a.Backends) == 0:
		return Answer{Outcome: explain.Closed, Reason: a.Stream.Route.Origin.Key.String() + " has no backend with a weight"}, a.Stream
	}
	out := Answer{Outcome: explain.Forwarded, Unless: a.Unless}
	for _, b := range a.Backends {
		share := Share{Cluster: b.Target.Cluster, Percent: b.Percent}
		if cluster := clusters[share.Cluster]; cluster != nil {
			share.Endpoints = explain.Endpoints(cluster)
		}
		out.Backends = append(out.Backends, share)
	}
	return out, a.Stream
}
