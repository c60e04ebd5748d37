package importer

import (
	"regexp"
	"slices"
	"strings"
)

// readConnections adds a verdict to the report for each TCP or UDP entry of Traefik's configuration, such as a
// tcpRouter. The verdict says that import leaves the entry out. An entry that Options.Accept names gets no verdict
// here. The parameter parts has all entries of the configuration.
func readConnections(parts []*part) {
	for _, p := range parts {
		if strings.HasPrefix(p.kind, "tcp") || strings.HasPrefix(p.kind, "udp") {
			if !p.accepted {
				p.report.protecting(p.place, p.id(), "left out: import writes no routes of connections", "write a TCPRoute, TLSRoute or UDPRoute")
				p.told = append(p.told, "*")
			}
		}
	}
}

// closeBehindConnections makes HTTP routers answer 500 if they may get connections that belong to a TCP router,
// because import leaves out all TCP routers. TCP routers that Options.Accept names do not count.
func (rr *routerReader) closeBehindConnections() {
	for _, p := range rr.parts.ordered {
		if p.kind != "tcpRouter" || p.accepted {
			continue
		}
		points, hosts := list(p.get("entryPoints")), serverNames(text(p.get("rule")))
		for _, r := range rr.routers {
			shared := slices.ContainsFunc(r.points, func(name string) bool {
				samePort := func(point any) bool { return rr.points.port(text(point)) == rr.points.port(name) }
				return (len(points) == 0 || slices.ContainsFunc(points, samePort)) && rr.points.tlsAt(r, name) == (p.get("tls") != nil)
			})
			if shared && r.closed == "" && r.named(hosts) {
				r.failClosed("it may get connections of "+p.id()+", which is left out", "", "entryPoints")
			}
		}
	}
}

// serverName matches a rule with only one server name.
var serverName = regexp.MustCompile("^HostSNI\\(`([A-Za-z0-9.-]+)`\\)$")

// serverNames returns the server names (SNI) in the rule of a TCP router. The rule must be a list of HostSNI
// conditions, each with one name, joined by ||. For any other rule, serverNames returns nil, which stands for all
// server names: such a rule may select all connections.
func serverNames(rule string) (names []string) {
	for _, word := range strings.Split(rule, "||") {
		found := serverName.FindStringSubmatch(strings.TrimSpace(word))
		if found == nil {
			return nil
		}
		names = append(names, strings.ToLower(found[1]))
	}
	return names
}
