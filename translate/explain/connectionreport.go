package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// explainConnection reports what happens to a connection. It returns an error if several Gateways may get the
// connection (see ConnectionAnswer.Candidates).
func explainConnection(f Facts, q Query) (*Report, error) {
	a := Connection(f.View, q)
	if len(a.Candidates) > 0 {
		return nil, fmt.Errorf("several Gateways listen on port %d; choose one: --gateway %s", q.Port, strings.Join(a.Candidates, " or --gateway "))
	}
	b := &connectionReporter{reporter{facts: f, query: q, report: &Report{Request: RequestReport{URL: q.URL()}}}, a}
	b.listener()
	b.stream()
	policies := b.policies()
	b.outcome()
	b.problems()
	if f.Places != nil {
		b.report.locate(f.Places)
	}
	policies.place()
	return b.report, nil
}

// policies adds to the report the policies of the connection's Gateway, listener, route and backends. Without a
// route it adds none. It returns the policyReporter, so that the caller can call the policyReporter's method place
// after Report.locate.
func (b *connectionReporter) policies() *policyReporter {
	policies := newPolicyReporter(&requestReporter{reporter: b.reporter})
	if b.report.Route == nil {
		return policies
	}
	rule := &ir.Rule{Source: b.answer.Stream.Route.Origin}
	if access := b.answer.Stream.Access; access != nil {
		rule.Action.Parts = access.Parts
	}
	policies.answer.Rule = rule
	policies.addOfConnection()
	return policies
}

// connectionReporter builds the Report of one connection.
type connectionReporter struct {
	reporter
	answer ConnectionAnswer
}

// listener adds the section Listener to the report. It does nothing if no Gateway listens on the query's port.
func (b *connectionReporter) listener() {
	port := b.answer.Port
	if port == nil {
		return
	}
	l := &ListenerReport{
		Gateway: port.Gateway, Port: port.Port, Envoy: port.Name, At: Source{Object: ir.GatewayKey(port.Gateway)}, VirtualHost: b.answer.Domain,
	}
	if b.answer.Stream != nil {
		i := slices.IndexFunc(port.Listeners, func(l ir.Listener) bool { return l.ID() == b.answer.Stream.Listener })
		l.Name = port.Listeners[i].Name
		l.At = Source{Object: port.Listeners[i].Object, Field: fmt.Sprintf("spec.listeners[%d]", port.Listeners[i].Index)}
		l.NotProgrammed = b.notProgrammed(port.Listeners[i])
	}
	b.report.Listener = l
}

// stream adds to the report the route that gets the connection, its backends, and the routes with a lower
// precedence. It does nothing if no route gets the connection.
func (b *connectionReporter) stream() {
	stream := b.answer.Stream
	if stream == nil || stream.Route == nil {
		return
	}
	key := stream.Route.Origin.Key
	last := hopAt(key, 0, 0)
	last.RuleName, last.MatchAt = stream.Route.Section, Source{Object: key, Field: "spec.parentRefs"}
	if stream.Domains != nil {
		last.MatchAt.Field = "spec.hostnames"
	}
	b.report.Route = &RouteReport{Name: b.answer.Port.Name + "/" + stream.Name(), Match: streamWords(stream), Hops: []HopReport{last}}
	for _, share := range b.answer.Backends {
		b.report.Backends = append(b.report.Backends, b.share(share))
	}
	for _, rival := range stream.Behind {
		if rival.Domains != nil && !slices.Contains(rival.Domains, b.answer.Domain) {
			continue
		}
		b.report.NearMisses = append(b.report.NearMisses, NearMissReport{
			Object: rival.Route, Match: streamWords(stream), Reason: "lower precedence: " + key.String() + " takes precedence: " + rival.Why,
			At: Source{Object: rival.Route, Field: "spec.parentRefs"},
		})
	}
}

// share returns the report of a backend: its share, and the endpoints of its cluster. If there is no cluster,
// Reason has the problems of the backend reference.
func (b *connectionReporter) share(share Share) BackendReport {
	out := BackendReport{
		Cluster: share.Target.Cluster, Weight: share.Target.Weight, Percent: share.Percent,
		At: Source{Object: b.answer.Stream.Route.Origin.Key, Field: share.Target.Field},
	}
	cluster := b.facts.View.Clusters[share.Target.Cluster]
	if cluster == nil {
		out.Reason = b.messages(func(p *manifest.Problem) bool { return concerns(p, out.At.Object, out.At.Field) })
		return out
	}
	out.addCluster(cluster)
	return out
}

// outcome sets the report's Outcome. If the connection is forwarded, it also sets Caveats. Otherwise it also sets
// Reason. It sets ReasonAt if a policy closes the connection and the field of the policy is known, and Suggestions
// if no listener accepts the connection.
func (b *connectionReporter) outcome() {
	stream, gateway := b.answer.Stream, "some Gateway"
	if b.answer.Port != nil {
		gateway = b.answer.Port.Gateway
	}
	switch {
	case b.answer.Port == nil:
		b.report.Outcome = NoListener
		b.report.Reason = fmt.Sprintf("nothing listens on port %d for %s", b.query.Port, map[bool]string{true: "datagrams", false: "connections"}[b.query.Scheme == "udp"])
		b.report.Suggestions = b.streams()
	case stream == nil:
		b.report.Outcome = NoListener
		b.report.Reason = fmt.Sprintf("Gateway %s speaks %s on port %d", gateway, b.answer.Port.Scheme(), b.query.Port)
		if b.query.Scheme == "tls" && endsByName(b.answer.Port) && !isHTTPS(b.answer.Port, hostname(b.query.Host)) {
			b.report.Reason = fmt.Sprintf("no listener of Gateway %s on port %d has the hostname %s: the connection is closed", gateway, b.query.Port, hostname(b.query.Host))
		}
		b.report.Suggestions = b.streams()
	case b.answer.Denied != "":
		b.report.Outcome, b.report.Reason = Closed, b.answer.Denied
		if b.answer.At.Field != "" {
			b.report.ReasonAt = &b.answer.At
		}
	case len(b.report.Backends) > 0:
		b.report.Outcome, b.report.Caveats = Forwarded, b.answer.Unless
	default:
		b.report.Outcome = Closed
		b.report.Reason = b.whyClosed(stream)
	}
}

// whyClosed returns, as text, why the connections of an ir.Stream reach no backend.
func (b *connectionReporter) whyClosed(stream *ir.Stream) string {
	if stream.Route == nil {
		if b.query.Scheme == "tls" {
			return fmt.Sprintf("no route of listener %s has the hostname %s", stream.Listener, hostname(b.query.Host))
		}
		return fmt.Sprintf("no route is attached to listener %s", stream.Listener)
	}
	messages := b.messages(func(p *manifest.Problem) bool { return concerns(p, stream.Route.Origin.Key, "spec.rules[0]") })
	return cmp.Or(messages, "all of its weights are 0")
}

// problems adds to the report the problems of the objects that lead to the answer, and of the routes in
// NearMisses. If no backend gets the connection, it also adds the problems of Gateways, of routes of the
// connection's kind, and of files. It adds at most maxProblems, and counts the others in MoreProblems.
func (b *connectionReporter) problems() {
	part := map[manifest.Key]bool{}
	if b.report.Listener != nil {
		part[b.report.Listener.At.Object] = true
	}
	if b.report.Route != nil {
		part[b.report.Route.Hops[0].Object] = true
	}
	for _, lost := range b.report.NearMisses {
		part[lost.Object] = true
	}
	for _, backend := range b.report.Backends {
		for _, object := range backend.Objects {
			part[object.Object] = true
		}
	}
	kind := map[string]string{"tcp": "TCPRoute", "tls": "TLSRoute", "udp": "UDPRoute"}[b.query.Scheme]
	for _, p := range b.facts.Problems {
		nowhere := len(b.report.Backends) == 0 && (p.Object.Kind == kind || p.Object.Kind == "Gateway" || p.Object == manifest.Key{})
		switch {
		case !part[p.Object] && !nowhere:
		case len(b.report.Problems) == maxProblems:
			b.report.MoreProblems++
		default:
			b.report.Problems = append(b.report.Problems, p)
		}
	}
}

// streams returns suggestions for a connection that no listener accepts: the most similar URLs of connections
// that a listener accepts. If the query names a Gateway, only its listeners count.
func (b *connectionReporter) streams() []string {
	var urls []string
	for _, gateway := range b.facts.View.Gateways {
		if b.query.Gateway != "" && b.query.Gateway != gateway.Name {
			continue
		}
		for _, port := range gateway.Ports {
			for i := range port.Port.Streams {
				urls = append(urls, streamURL(port.Port, &port.Port.Streams[i], hostname(b.query.Host)))
			}
		}
	}
	return nearest(b.query.URL(), slices.Compact(slices.Sorted(slices.Values(urls))))
}

// streamWords returns, as text, which connections an ir.Stream accepts.
func streamWords(stream *ir.Stream) string {
	if stream.Domains == nil {
		return "all that comes to the listener"
	}
	return "the handshake asks for " + strings.Join(stream.Domains, " or ")
}

// streamURL returns a URL with which the user can query this ir.Stream. If connections select the ir.Stream by the
// server name in the TLS handshake, the host of the URL is the first hostname in stream.Domains. In all other cases,
// it is the parameter host.
func streamURL(port *ir.Port, stream *ir.Stream, host string) string {
	switch {
	case port.UDP:
		return fmt.Sprintf("udp://%s:%d", host, port.Port)
	case stream.Domains == nil:
		return fmt.Sprintf("tcp://%s:%d", host, port.Port)
	}
	return fmt.Sprintf("tls://%s:%d", stream.Domains[0], port.Port)
}

// endsByName reports whether the port chooses a listener by the server name in the TLS handshake.
func endsByName(port *ir.Port) bool {
	return slices.ContainsFunc(port.Chains, func(c ir.Chain) bool { return c.TLS != nil }) ||
		slices.ContainsFunc(port.Streams, func(s ir.Stream) bool { return s.Domains != nil })
}

// isHTTPS reports whether the hostname of an HTTPS listener of the port covers the name.
func isHTTPS(port *ir.Port, name string) bool {
	_, found := mostSpecific(name, func(pattern string) (int, bool) {
		return 0, slices.ContainsFunc(port.Chains, func(c ir.Chain) bool { return c.TLS != nil && c.Name == pattern })
	})
	return found
}
