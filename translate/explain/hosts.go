package explain

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// hostname returns a host without its port, in lower case.
func hostname(host string) string {
	if i := portStart(host); i >= 0 {
		host = host[:i]
	}
	return strings.ToLower(host)
}

// portStart returns the index of the colon before the port, -1 without one. The colons of an
// IPv6 address are in brackets.
func portStart(host string) int {
	colon := strings.LastIndexByte(host, ':')
	if colon < strings.LastIndexByte(host, ']') {
		return -1
	}
	return colon
}

// serverName returns the name that a client sends in the handshake: the host without a dot at its
// end.
func serverName(host string) string { return strings.TrimSuffix(host, ".") }

// maxHostname is the length of the longest hostname that a listener or a route may have.
const maxHostname = 253

// mostSpecific looks patterns up as Envoy does: the exact name before the longest
// wildcard before "*".
func mostSpecific(name string, lookup func(pattern string) (int, bool)) (int, bool) {
	if i, found := lookup(name); found && name != "*" {
		return i, true
	}
	for i := max(1, len(name)-maxHostname); i < len(name); i++ { // no wildcard is longer
		if name[i] != '.' {
			continue
		}
		if at, found := lookup("*" + name[i:]); found {
			return at, true
		}
	}
	return lookup("*")
}

func covers(pattern, host string) bool {
	suffix, wild := strings.CutPrefix(pattern, "*")
	return pattern == "" || pattern == host || wild && strings.HasSuffix(host, suffix)
}

func moreSpecific(a, b string) bool {
	wildA, wildB := strings.HasPrefix(a, "*"), strings.HasPrefix(b, "*")
	return b == "" && a != "" || a != "" && (wildB && !wildA || wildA == wildB && len(a) > len(b))
}

// listenerOf returns the listener with the most specific hostname that covers host (Gateway API,
// Listener.hostname). If the port has only one listener, it returns that one for any host.
func listenerOf(all []ir.Listener, host string) (best ir.Listener, found bool) {
	for _, l := range all {
		if covers(l.Hostname, host) && (!found || moreSpecific(l.Hostname, best.Hostname)) {
			best, found = l, true
		}
	}
	if !found && len(all) == 1 {
		return all[0], true
	}
	return best, found
}

func listenerField(l ir.Listener) string { return fmt.Sprintf("spec.listeners[%d]", l.Index) }

// Chain returns the name of the chain of a port for a client that asks for a server name in the
// handshake, "" without TLS; found is false if the port has no chain for it.
func Chain(port *ir.Port, serverName string) (chain string, found bool) {
	return chainOf(port, serverName)
}

// Table returns the virtual host for a request's host in the chain of a port. It returns nil if
// there is none, or if the host belongs to another listener and answers 421.
func Table(port *ir.PortView, chain, host string) *ir.HostView { return hostIn(port, chain, host) }

// Covers reports whether a hostname, or a wildcard such as "*.example.com", covers a host in lower
// case. "" and "*" cover every host.
func Covers(pattern, host string) bool { return covers(pattern, host) }
