package explain

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
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

// mostSpecific finds the most specific pattern for a name. It calls lookup with one pattern after the other, in
// Envoy's order (scope.Patterns). It returns the result of the first call that returns true. If no call returns true, it
// returns the result for "*".
func mostSpecific(name string, lookup func(pattern string) (int, bool)) (i int, found bool) {
	for pattern := range scope.Patterns(name) {
		if i, found = lookup(pattern); found {
			break
		}
	}
	return i, found
}

// listenerOf returns the listener with the most specific hostname that covers host (Gateway API,
// Listener.hostname). If no hostname covers host and the list has only one listener, it returns this listener.
// Otherwise found is false.
func listenerOf(all []ir.Listener, host string) (best ir.Listener, found bool) {
	for _, l := range all {
		if scope.CoversHost(l.Hostname, host) && (!found || route.Specific(l.Hostname) > route.Specific(best.Hostname)) {
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
