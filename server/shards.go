package server

import (
	"strings"
	"time"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/gatefold/gatefold/translate/xds"
)

// Envoy opens the port of a listener once it has all that the listener names, but for
// scopes: of all listeners with shards it waits for those of the first alone, and the
// next answers 404 until its own have come (docs/scale.md). So a listener with shards is
// sent when its scopes and their tables were taken. Envoy asks for scopes when it has a
// listener with shards: that one goes ahead, by itself.
//
// Scopes are never taken away: unlike a table that is in use, Envoy drops them at once, and
// connections of a listener that is replaced or drained would be answered 404 from then on. What
// stays is a name, until the last listener with shards is gone and Envoy asks for no more.

// belongs tells whether a table, or a scope of its name, is of an Envoy listener: its name
// begins with the listener's (listen.RoutesName).
func belongs(table, listener string) bool {
	return xds.Unsharded(table) == listener || strings.HasPrefix(table, listener+"/")
}

// withhold tells whether a listener is not to be sent yet. Nothing is withheld longer
// than p.wait, and nothing in the state-of-the-world protocol: what its list leaves out
// is removed.
func (p *plan) withhold(listener string) bool {
	if !p.ordered || p.world != nil || p.ready(listener) {
		return false
	}
	if p.withheld.IsZero() {
		p.withheld = p.now
	}
	return p.now.Before(p.withheld.Add(p.wait))
}

// ready tells whether Envoy can serve a listener from the moment that it has it, as far as
// its scopes go.
func (p *plan) ready(listener string) bool {
	scopes, tables := p.ledgers[resourcev3.ScopedRouteType], p.ledgers[resourcev3.RouteType]
	for name := range p.scope.target[resourcev3.ScopedRouteType] {
		if !belongs(name, listener) {
			continue
		}
		if scopes == nil || !scopes.wildcard {
			if p.ahead == "" {
				p.ahead = listener
			}
			return p.ahead == listener
		}
		p.ahead = ""
		if !scopes.answeredOnce(name) || tables == nil || !tables.answeredOnce(name) {
			return false
		}
	}
	return true
}

// answeredOnce tells that Envoy took some form of a resource, or refused it.
func (l *ledger) answeredOnce(name string) bool {
	_, rejected := l.rejected.of[name]
	return rejected || l.held.has(name)
}

// waitsForShards gives the time until which listeners are withheld, zero for none.
func (p *plan) waitsForShards() time.Time {
	l := p.ledgers[resourcev3.ListenerType]
	if l == nil || p.withheld.IsZero() {
		return time.Time{}
	}
	if l.rests() {
		p.withheld = time.Time{}
		return time.Time{}
	}
	return p.withheld.Add(p.wait)
}
