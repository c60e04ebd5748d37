package delta

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// An Envoy ignores the removal of a route table that it requests, and connections of a removed or changed listener
// may stay open for minutes. So for as long as the Envoy requests the table, it gets a closed one (xds.ClosedTables):
// docs/design/xds.md#no-table-is-frozen.

// A table is closed closeWait after it was found to be gone, so that the Envoy has the listener that replaces its
// listener. If the Envoy has not answered everything by then, it gets more time, but no more than closeMost.
const (
	closeWait = time.Second
	closeMost = 4 * time.Second
)

// closings are the route tables of a stream that are closed, or will be.
type closings struct {
	waiting []closing           // in order of time; a name may be there more than once
	closed  map[string]struct{} // the names whose table is closed
}

// closing is a route table that the Envoy requests, and that the target no longer has.
type closing struct {
	name  string
	since time.Time // when the table was found to be gone; zero until the next call of closeTables
}

// closable reports whether the name can be that of a route table of the stream's Gateway, and the client requests
// it by name. No other name is answered with a closed table.
func (s *stream) closable(name string) bool {
	l := s.ledgers[xds.RouteType]
	at, ok := placeOf(name)
	return ok && l != nil && l.names.has(name) && (s.options.Gateway == "" || s.options.Gateway == at.gateway)
}

// place is the port to which a route table belongs.
type place struct {
	gateway string
	port    uint16
}

// placeOf returns the place of a route table or listener, by its name (listen.PortName, listen.RoutesName). ok is
// false if the name is not that of a listener for HTTP or of its table.
func placeOf(name string) (at place, ok bool) {
	parts := strings.SplitN(name, "/", 4)
	if len(parts) < 3 {
		return place{}, false
	}
	word, number, _ := strings.Cut(parts[2], "-")
	port, err := strconv.ParseUint(number, 10, 16)
	return place{parts[0] + "/" + parts[1], uint16(port)}, err == nil && (word == "http" || word == "https")
}

// closedForm returns the closed table that is sent for a name. wait is true if the table is not to be closed yet:
// closeTables does that later.
func (p *Plan) closedForm(name string) (closed *Entry, wait bool) {
	l := p.ledgers[xds.RouteType]
	p.forgetTable(name)
	if _, is := l.closed[name]; is || p.options.Unordered {
		return p.target.closedTable(name), false
	}
	l.waiting = append(l.waiting, closing{name: name})
	return nil, true
}

// noteGone adds the names of route tables that the Envoy requests and the target does not have to those that will be
// closed. It is called when the target or the subscription changes, because fill may look at the names much later.
func (p *Plan) noteGone(l *ledger, names []string) {
	if l.typ != xds.RouteType {
		return
	}
	for _, name := range names {
		if _, closed := l.closed[name]; !closed && p.entry(l.typ, name) == nil && p.closable(name) {
			l.waiting = append(l.waiting, closing{name: name})
		}
	}
}

// startClosing sets the time of those in waiting that have none yet: the last ones.
func (p *Plan) startClosing(l *ledger) {
	for i := len(l.waiting) - 1; i >= 0 && l.waiting[i].since.IsZero(); i-- {
		l.waiting[i].since = p.now
	}
}

// closeTables returns a response with the closed tables whose time has come, or nil if there are none. It waits for
// no other resource: what another resource of the Envoy needs must not keep a table open.
func (p *Plan) closeTables(l *ledger) *Response {
	r := &Response{Type: l.typ}
	p.startClosing(l)
	for len(l.waiting) > 0 && r.Names() < batchNames {
		next := l.waiting[0]
		alone := l.goesAlone(next.name)
		if p.now.Before(p.closesAt(next)) || alone && r.Names() > 0 {
			break
		}
		if l.waiting = l.waiting[1:]; len(l.waiting) == 0 {
			l.waiting = nil // this frees the list
		}
		if _, done := l.closed[next.name]; done || p.entry(l.typ, next.name) != nil || !p.closable(next.name) {
			continue
		}
		l.closed[next.name] = struct{}{}
		if l.passes(next.name) {
			continue
		}
		e := p.target.closedTable(next.name)
		if l.decide(next.name, e, true) != set {
			continue
		}
		if r.Set = append(r.Set, e); alone {
			break
		}
	}
	return r.orNil()
}

// closesAt returns when a table is to be closed.
func (p *Plan) closesAt(c closing) time.Time {
	for _, l := range p.ledgers {
		if !l.idle() {
			return c.since.Add(closeMost)
		}
	}
	return c.since.Add(closeWait)
}

// nextClosing returns when the next table is to be closed; zero if none is waiting.
func (p *Plan) nextClosing() time.Time {
	if l := p.ledgers[xds.RouteType]; l != nil && len(l.waiting) > 0 {
		p.startClosing(l)
		return p.closesAt(l.waiting[0])
	}
	return time.Time{}
}

// markClosed makes the closed tables due. It is called after listeners changed, because the answers of closed tables
// depend on what listeners serve.
func (p *Plan) markClosed() {
	if l := p.ledgers[xds.RouteType]; l != nil && len(l.closed) > 0 {
		l.markAll(slices.Collect(maps.Keys(l.closed)))
	}
}

// addClosed adds to present, by name, the closed tables that a client of the state-of-the-world protocol may have.
func (p *Plan) addClosed(l *ledger, present map[string]*Entry) {
	if l.typ != xds.RouteType {
		return
	}
	for name := range l.names.all {
		if present[name] == nil && p.entry(l.typ, name) == nil && p.closable(name) {
			present[name] = p.target.closedTable(name)
		}
	}
}

// portIndex has what the listeners of a target serve, to make closed tables.
type portIndex struct {
	listeners map[uint16][]listening
	addresses map[string][]netip.Addr // by Gateway, of any of its listeners: all have the same
	made      map[madeKey]*xds.ClosedTables
}

// listening is a listener for HTTP.
type listening struct {
	gateway string
	*xds.Binding
}

// madeKey is what the answers of a closed table depend on. The Gateway is "" if no listener of it is known.
type madeKey struct {
	place
	closing bool // the listener is of ir.ClosingGeneration or later
}

// closedTable returns the closed table with this name.
func (t *Target) closedTable(name string) *Entry {
	if t.ports == nil {
		t.ports = t.indexPorts()
	}
	at, _ := placeOf(name)
	_, generation := ir.SplitTableName(name)
	r := t.ports.tables(at, generation).Named(name)
	e := NewEntry(&r)
	e.closed = true
	return e
}

// indexPorts makes the portIndex of the target.
func (t *Target) indexPorts() *portIndex {
	index := &portIndex{listeners: map[uint16][]listening{}, addresses: map[string][]netip.Addr{}, made: map[madeKey]*xds.ClosedTables{}}
	for name := range t.Names(xds.ListenerType) {
		binding := t.Entry(xds.ListenerType, name).binding()
		gateway := gatewayOf(name)
		if _, known := index.addresses[gateway]; !known {
			for _, socket := range binding.Sockets {
				index.addresses[gateway] = append(index.addresses[gateway], socket.Addr())
			}
		}
		if at, ok := placeOf(name); ok {
			index.listeners[at.port] = append(index.listeners[at.port], listening{gateway, binding})
		}
	}
	return index
}

// gatewayOf returns the Gateway of a listener, by the name of the listener (listen.PortName).
func gatewayOf(listener string) string {
	return listener[:max(strings.LastIndexByte(listener, '/'), 0)]
}

// tables returns the closed tables for a place. Where the place has no listener, all places share them.
func (i *portIndex) tables(at place, generation int) *xds.ClosedTables {
	key := madeKey{at, generation >= ir.ClosingGeneration}
	switch {
	case i.listeners[at.port] == nil:
		key.place = place{}
	case i.addresses[at.gateway] == nil:
		key.gateway = ""
	}
	if i.made[key] == nil {
		i.made[key] = xds.NewClosedTables(i.served(key.place), generation)
	}
	return i.made[key]
}

// served returns the domains that listeners of the place's address and port serve now, sorted. If no listener of the
// Gateway is known, its address is not known either: then the listeners of all addresses count.
func (i *portIndex) served(at place) (domains []string) {
	own := i.addresses[at.gateway]
	for _, l := range i.listeners[at.port] {
		if own == nil || slices.ContainsFunc(l.Sockets, func(s xds.Socket) bool { return meets(s.Addr(), own) }) {
			domains = append(domains, l.ServerNames...)
		}
	}
	slices.Sort(domains)
	return slices.Compact(domains)
}

// meets reports whether an address is one of the others, or either is the address for all.
func meets(address netip.Addr, others []netip.Addr) bool {
	return address.IsUnspecified() || slices.ContainsFunc(others, func(o netip.Addr) bool { return o == address || o.IsUnspecified() })
}
