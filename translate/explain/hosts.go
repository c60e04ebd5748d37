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

// portStart returns the index of the colon before the port, -1 without a port. It skips the colons of an IPv6
// address, which are in brackets.
func portStart(host string) int {
	colon := strings.LastIndexByte(host, ':')
	if colon < strings.LastIndexByte(host, ']') {
		return -1
	}
	return colon
}

// serverName returns the server name that a client sends in the TLS handshake: the host without a dot at its
// end.
func serverName(host string) string { return strings.TrimSuffix(host, ".") }

// maxHostname is the length of the longest hostname that a listener or a route may have.
const maxHostname = 253

// mostSpecific finds the most specific pattern for a name. It calls lookup with one pattern after the other, in
// Envoy's order: the exact name, wildcards from the longest to the shortest, and "*". It returns the result of
// the first call that returns true. If no call returns true, it returns the result for "*".
func mostSpecific(name string, lookup func(pattern string) (int, bool)) (int, bool) {
	if i, found := lookup(name); found && name != "*" {
		return i, true
	}
	for i := max(1, len(name)-maxHostname); i < len(name); i++ { // no hostname is longer
		if name[i] != '.' {
			continue
		}
		if at, found := lookup("*" + name[i:]); found {
			return at, true
		}
	}
	return lookup("*")
}

// covers reports whether a hostname or wildcard covers a host. The patterns "" and "*" cover every host.
func covers(pattern, host string) bool {
	suffix, wild := strings.CutPrefix(pattern, "*")
	return pattern == "" || pattern == host || wild && strings.HasSuffix(host, suffix)
}

// moreSpecific reports whether hostname a is more specific than b. An exact name is more specific than a
// wildcard, and every hostname is more specific than "". Of two exact names or two wildcards, the longer
// hostname is more specific.
func moreSpecific(a, b string) bool {
	wildA, wildB := strings.HasPrefix(a, "*"), strings.HasPrefix(b, "*")
	return b == "" && a != "" || a != "" && (wildB && !wildA || wildA == wildB && len(a) > len(b))
}

// listenerOf returns the listener with the most specific hostname that covers host (Gateway API,
// Listener.hostname). If no hostname covers host and the list has only one listener, it returns this listener.
// Otherwise found is false.
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

// listenerField returns the path of a listener in its object.
func listenerField(l ir.Listener) string { return fmt.Sprintf("spec.listeners[%d]", l.Index) }

// Chain returns the name of the filter chain that Envoy uses on the port for a connection with this TLS server name.
// On a port without TLS, the name is "". found is false if no chain fits, or if an ir.Stream of the port has the
// server name.
func Chain(port *ir.Port, serverName string) (chain string, found bool) {
	return chainOf(port, serverName)
}

// Table returns the virtual host that serves a host (the parameter host) in the filter chain with the name chain. It
// returns nil if the chain has no such virtual host, or if Envoy answers 421 because the host belongs to another
// listener.
func Table(port *ir.PortView, chain, host string) *ir.HostView { return hostIn(port, chain, host) }

// Covers reports whether a hostname, or a wildcard such as "*.example.com", covers a host in lower case. "" and
// "*" cover every host.
func Covers(pattern, host string) bool { return covers(pattern, host) }
