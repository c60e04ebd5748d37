package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
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

// connections reports the connections for a name if the ir.Streams of the two sides handle them differently. If
// the answer is the same for every client, it reports them under Handling. The parameter host is a hostname
// that the name covers; the example uses it.
func (p *portPair) connections(scheme, name, host string) {
	var streams [2]*ir.Stream
	for side := range p.ports {
		_, streams[side] = p.connection(side, explain.Query{Scheme: scheme, Host: host})
	}
	if p.sameStreams(streams) {
		return
	}
	h := &hostPair{portPair: p, named: name, host: host}
	reasons := h.streamReasons(streams)
	match := map[bool]string{true: "every datagram", false: "every connection"}[scheme == "udp"]
	for _, s := range []*ir.Stream{streams[1], streams[0]} {
		if s != nil {
			match += " to listener " + s.Listener
			break
		}
	}
	region := h.region(pair{}, match)
	region.Scheme = scheme
	var plain *Change
	queries := []explain.Query{{Scheme: scheme, Host: host}}
	for _, from := range clients(admissionOf(aclOf(streams[0]), nil), admissionOf(aclOf(streams[1]), nil)) {
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
			h.group(one, &p.comparison.requests)
			return
		}
		if plain == nil {
			plain = one
		}
	}
	h.group(plain, &p.comparison.other)
}

// aclOf returns the ACL of a stream. It returns nil if there is none, or if s is nil.
func aclOf(s *ir.Stream) *ir.ACL {
	if s == nil || s.Access == nil {
		return nil
	}
	return s.Access.ACL
}

// sameStreams reports whether two ir.Streams handle every connection in the same way. Two nil Streams do; a nil
// Stream and another one do not.
func (p *portPair) sameStreams(streams [2]*ir.Stream) bool {
	if streams[0] == nil || streams[1] == nil {
		return streams[0] == streams[1]
	}
	return p.effects[0].of(streamEffect(streams[0])) == p.effects[1].of(streamEffect(streams[1]))
}

// streamEffect returns the fields of an ir.Stream that decide how connections are handled.
func streamEffect(s *ir.Stream) any {
	if s.Route == nil {
		return [2]any{s.TLS, s.Access}
	}
	return [4]any{s.TLS, s.Access, s.Route.Backends, s.Route.Cluster}
}

// connection returns the answer for a connection on one side, and the ir.Stream of the connection. The Stream
// is nil if no TCP, TLS or UDP listener accepts the connection.
func (p *portPair) connection(side int, q explain.Query) (Answer, *ir.Stream) {
	if p.ports[side] == nil {
		return Answer{Outcome: explain.NoListener}, nil
	}
	q.Gateway, q.Port = p.key.gateway, p.key.port
	clusters := [2]Side{p.before, p.after}[side].View.Clusters
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

// streamReasons returns the differences between the ir.Streams before and after, at least one. At most one of
// the two Streams may be nil.
func (h *hostPair) streamReasons(streams [2]*ir.Stream) (out []Reason) {
	x, y := streamWords(streams[0]), streamWords(streams[1])
	if x != y {
		out = append(out, Reason{y + "; before: " + x, streamPlaces(streams)})
	}
	a, b := streams[0], streams[1]
	if a == nil || b == nil {
		return out
	}
	if h.effects[0].of([]any{a.Access}) != h.effects[1].of([]any{b.Access}) {
		out = append(out, h.accessReason(a, b))
	}
	if h.effects[0].of(a.TLS) != h.effects[1].of(b.TLS) {
		out = append(out, Reason{"TLS of listener " + b.Listener + " differs", h.portPlaces()})
	}
	if x == y && a.Route != nil && b.Route != nil {
		for i := range min(len(a.Route.Backends), len(b.Route.Backends)) {
			one, other := a.Route.Backends[i].Cluster, b.Route.Backends[i].Cluster
			if one == other && h.effects[0].ofCluster(one) != h.effects[1].ofCluster(other) {
				out = append(out, h.cluster(one, streamPlaces(streams))...)
			}
		}
	}
	if len(out) == 0 {
		out = []Reason{{streamWords(b) + " (changed)", streamPlaces(streams)}}
	}
	return out
}

// streamPlaces returns the place of the backendRefs of the route after. If there is no route after, it returns
// the place of the backendRefs of the route before.
func streamPlaces(streams [2]*ir.Stream) (out []Place) {
	for side, s := range streams {
		if s != nil && s.Route != nil {
			out = append(out, Place{Source: explain.Source{Object: s.Route.Origin.Key, Field: "spec.rules[0].backendRefs"}, Before: side == 0})
		}
	}
	return currentFirst(out)
}

// accessReason returns which clients may connect, before and after, with the places of the policies. It also
// adds the change of the field acl to the report's policies.
func (h *hostPair) accessReason(before, after *ir.Stream) Reason {
	x, y := accessWords(before.Access), accessWords(after.Access)
	text := "acl of the connections: " + change(x, y)
	if a, b := aclOf(before), aclOf(after); a != nil && b != nil {
		text = joined(text, listDetails("ranges", aclLines(a), aclLines(b)))
	}
	var at []Place
	for side, s := range []*ir.Stream{before, after} {
		if s.Access == nil {
			continue
		}
		for _, part := range s.Access.Parts {
			at = append(at, Place{Source: explain.Source{Object: part.Object, Field: part.Field}, Before: side == 0})
		}
	}
	at = currentFirst(at)
	one := PolicyChange{Kind: Changed, Field: string(ir.FieldACL), Before: x, After: y, Policies: objectsOf(at)}
	switch {
	case after.Access != nil && after.Access.Closed != "":
		one.Kind = Closed
	case before.Access == nil:
		one.Kind = Added
	case after.Access == nil:
		one.Kind = Removed
	}
	for _, s := range []*ir.Stream{before, after} {
		if s.Route != nil && (s == after || one.Kind == Removed) {
			h.countRule(one, s.Route.Origin.Key, "")
			break
		}
	}
	return Reason{text, at}
}

// accessWords returns which clients may connect, in words. It shows at most maxListed ranges, and counts the
// others. It returns "" if all clients may connect.
func accessWords(a *ir.Access) string {
	switch {
	case a == nil:
		return ""
	case a.Closed != "":
		return "every connection is closed: " + a.Closed
	}
	words := aclLines(a.ACL)
	if more := len(words) - maxListed; more > 0 {
		words = append(words[:maxListed], fmt.Sprintf("%d more", more))
	}
	others := map[bool]string{true: "others pass", false: "others are closed"}[a.ACL.Allow]
	return strings.Join(append(words, others), ", ")
}

// streamWords returns, in words, where an ir.Stream sends connections. s may be nil.
func streamWords(s *ir.Stream) string {
	switch {
	case s == nil:
		return "no listener of TCP, TLS or UDP has the connections"
	case s.Route == nil:
		return "no route has the connections of listener " + s.Listener
	}
	var backends []string
	for _, b := range s.Route.Backends {
		name := cmp.Or(b.Cluster, "a reference that is not resolved")
		if len(s.Route.Backends) > 1 || b.Weight != 1 {
			name += fmt.Sprintf(" (weight %d)", b.Weight)
		}
		backends = append(backends, name)
	}
	return s.Route.Origin.Key.String() + " sends to " + orNone(backends)
}

// countRule counts a rule of a route for a change of a policy field. Equal changes become one PolicyChange. The
// parameter rule identifies the rule in the route. A rule is counted once for each change.
func (c *comparison) countRule(one PolicyChange, route manifest.Key, rule string) {
	key := fmt.Sprint(one.Kind, one.Field, one.Before, one.After, one.Policies)
	known := c.policies[key]
	if known == nil {
		known = &one
		known.rules = map[string]bool{}
		c.policies[key] = known
	}
	known.rules[fmt.Sprint(route, rule)] = true
	known.Rules = len(known.rules)
	if i, is := slices.BinarySearchFunc(known.Routes, route, manifest.CompareKeys); !is {
		known.Routes = slices.Insert(known.Routes, i, route)
	}
}
