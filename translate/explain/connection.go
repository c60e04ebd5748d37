package explain

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// ConnectionAnswer is what happens to a connection or datagram.
type ConnectionAnswer struct {
	// Port is the Gateway's port that the connection reaches. It is nil if no Gateway listens on the query's port.
	// It is also nil if several Gateways may get the connection (see Connection). Candidates are then their names.
	Port       *ir.Port
	Candidates []string
	// Stream is the ir.Stream of Port that accepts the connection. It is nil if none accepts it (see streamOf).
	Stream *ir.Stream
	// Domain is the hostname of the Stream that matches the server name, "" without TLS.
	Domain string
	// Backends are the backends that share the connections. There are none if the connection is closed or the
	// datagram is dropped.
	Backends []Share
	// Denied is why a policy closes the connection, "" if no policy closes it. At is the field that decides, or
	// empty if the field is not known.
	Denied string
	At     Source
	// By are the objects with the settings that close the connection, as in Outcome.
	By []manifest.Key
	// If the client's address is not known, Unless lists, as texts, the policies that may close the connection.
	Unless []string
}

// Share is a backend and its share of the connections.
type Share struct {
	Target  *ir.Backend
	Percent float64
}

// Connection returns what Envoy does with a connection, or with the first datagram of a session. If several
// Gateways listen on the query's port, it prefers those that listen on the IP address in the query's Host.
func Connection(view *ir.View, query Query) ConnectionAnswer {
	var fits []*ir.Port
	for _, gateway := range view.Gateways {
		if query.Gateway != "" && query.Gateway != gateway.Name {
			continue
		}
		for _, port := range gateway.Ports {
			if port.Port.Port == query.Port && port.Port.UDP == (query.Scheme == "udp") {
				fits = append(fits, port.Port)
			}
		}
	}
	if len(fits) > 1 { // one port may be the only one that listens on this address
		own := slices.DeleteFunc(slices.Clone(fits), func(p *ir.Port) bool { return !bindsHost(p, query.Host) })
		if len(own) > 0 {
			fits = own
		}
	}
	if len(fits) != 1 {
		answer := ConnectionAnswer{}
		for _, p := range fits {
			answer.Candidates = append(answer.Candidates, p.Gateway)
		}
		return answer
	}
	answer := ConnectionAnswer{Port: fits[0]}
	answer.Stream, answer.Domain = streamOf(fits[0], query)
	if answer.Stream == nil {
		return answer
	}
	access := accessGate(answer.Stream.Access, query.From)
	answer.Denied, answer.At, answer.Unless = access.why, access.at, access.unless
	if answer.Denied != "" {
		answer.By = deniers(access.at, answer.Stream.Access)
	}
	if answer.Denied == "" && answer.Stream.Route.Live() {
		answer.Backends = shareOut(answer.Stream.Route.Backends)
	}
	return answer
}

// deniers returns the objects because of which a connection is closed. The parameter at is the field that
// decides, or empty if it is not known. The result is the object of that field. If the field is not known, the
// result has all objects that set acl.
func deniers(at Source, access *ir.Access) []manifest.Key {
	if at.Object != (manifest.Key{}) {
		return []manifest.Key{at.Object}
	}
	return objectsOf(&ir.Action{Parts: access.Parts}, ir.FieldACL.PartKind())
}

// bindsHost reports whether the host is an IP address that the port listens on.
func bindsHost(port *ir.Port, host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(hostname(host), "[]"))
	return err == nil && slices.Contains(port.Addresses, ip.Unmap().String())
}

// streamOf returns the ir.Stream that Envoy chooses. For TLS, this is the one with the most specific hostname
// that covers the server name, and domain is that hostname. For other schemes it is the one without hostnames,
// and domain is "". stream is nil if none fits, or if an HTTPS listener has a more specific hostname.
func streamOf(port *ir.Port, query Query) (stream *ir.Stream, domain string) {
	if query.Scheme != "tls" {
		i := slices.IndexFunc(port.Streams, func(s ir.Stream) bool { return s.Domains == nil })
		if i < 0 {
			return nil, ""
		}
		return &port.Streams[i], ""
	}
	i, found := mostSpecific(hostname(query.Host), func(pattern string) (int, bool) {
		i := slices.IndexFunc(port.Streams, func(s ir.Stream) bool { return slices.Contains(s.Domains, pattern) })
		if i >= 0 {
			domain = pattern
			return i, true
		}
		// The name is that of an HTTPS listener. It is more specific than the patterns that follow.
		https := slices.ContainsFunc(port.Chains, func(c ir.Chain) bool { return c.TLS != nil && c.Name == pattern })
		return -1, https
	})
	if !found || i < 0 {
		return nil, ""
	}
	return &port.Streams[i], domain
}

// shareOut returns the backends with a weight above 0, each with its share.
func shareOut(backends []ir.Backend) []Share {
	total := uint64(0)
	for _, b := range backends {
		total += uint64(b.Weight)
	}
	var out []Share
	for i := range backends {
		if b := &backends[i]; b.Weight > 0 {
			out = append(out, Share{b, float64(b.Weight) * 100 / float64(total)})
		}
	}
	return out
}
