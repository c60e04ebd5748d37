package delta

import (
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
	waiting queue                // the names whose table is gone, in order of time
	since   map[string]time.Time // when it was found to be gone; the last ones of waiting may have no time yet
	closed  map[string]struct{}  // the names whose table is closed
}

// drop removes a name that is not requested any more, or that has a table again.
func (c *closings) drop(name string) {
	c.waiting.drop(name)
	delete(c.since, name)
	delete(c.closed, name)
}

// closable reports whether the name can be that of a route table of the stream's Gateway, and the client requests
// it by name. No other name is answered with a closed table.
func (s *stream) closable(name string) bool {
	l := s.ledgers[xds.RouteType]
	at, ok := placeOf(name)
	return ok && l != nil && l.named(name) && (s.options.Gateway == "" || s.options.Gateway == at.gateway)
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
	if _, is := l.closed[name]; is {
		return p.target.closedTable(name), false
	}
	l.waiting.push(name)
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
			l.waiting.push(name)
		}
	}
}

// startClosing sets the time of those in waiting that have none yet: the last ones.
func (p *Plan) startClosing(l *ledger) {
	for next := l.waiting.last; next != nil && l.since[next.name].IsZero(); next = next.before {
		l.since[next.name] = p.now
	}
}

// closeTables returns a response with the closed tables whose time has come, or nil if there are none. It waits for
// no other resource: what another resource of the Envoy needs must not keep a table open. Like fill, it stops after
// fillSteps names, and sets p.tired if it found nothing to send among them.
func (p *Plan) closeTables(l *ledger) *Response {
	r := &Response{Type: l.typ}
	p.startClosing(l)
	for steps := 0; r.Names() < batchNames; steps++ {
		name, ok := l.waiting.peek()
		if !ok || p.now.Before(p.closesAt(l, name)) {
			break
		}
		alone := l.goesAlone(name)
		if alone && r.Names() > 0 {
			break
		}
		if steps == fillSteps {
			p.tired = r.Names() == 0
			break
		}
		_, done := l.closed[name]
		l.closings.drop(name)
		if p.entry(l.typ, name) != nil || !p.closable(name) {
			continue
		}
		l.closed[name] = struct{}{}
		if done {
			continue
		}
		if l.inFlight(name) != nil {
			l.look(name)
			continue
		}
		e := p.target.closedTable(name)
		if l.decide(name, e) != set {
			continue
		}
		if r.Set = append(r.Set, e); alone {
			break
		}
	}
	return r.orNil()
}

// closesAt returns when the table with a name in waiting is to be closed.
func (p *Plan) closesAt(l *ledger, name string) time.Time {
	for _, other := range p.ledgers {
		if !other.idle() {
			return l.since[name].Add(closeMost)
		}
	}
	return l.since[name].Add(closeWait)
}

// nextClosing returns when the next table is to be closed; zero if none is waiting.
func (p *Plan) nextClosing() time.Time {
	l := p.ledgers[xds.RouteType]
	if l == nil || l.waiting.empty() {
		return time.Time{}
	}
	p.startClosing(l)
	name, _ := l.waiting.peek()
	return p.closesAt(l, name)
}

// markClosed makes the closed tables due. It is called after listeners changed, because the answers of closed tables
// depend on what listeners serve.
func (p *Plan) markClosed() {
	if l := p.ledgers[xds.RouteType]; l != nil && len(l.closed) > 0 {
		for name := range l.closed {
			l.look(name)
		}
	}
}

// closedNow returns the closed tables that a client of the state-of-the-world protocol may have.
func (p *Plan) closedNow(l *ledger) (closed []*Entry) {
	if l.typ != xds.RouteType {
		return nil
	}
	for name := range l.allNamed {
		if p.entry(l.typ, name) == nil && p.closable(name) {
			closed = append(closed, p.target.closedTable(name))
		}
	}
	return closed
}

// portIndex has what the listeners of a snapshot serve, to make closed tables.
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

// ports is the portIndex of the snapshots with the same listeners, made when it is needed.
type ports struct{ index *portIndex }

// closedTable returns the closed table with this name.
func (s *Snapshot) closedTable(name string) *Entry {
	if s.ports.index == nil {
		s.ports.index = s.indexPorts()
	}
	at, _ := placeOf(name)
	_, generation := ir.SplitTableName(name)
	r := s.ports.index.tables(at, generation).Named(name)
	e := NewEntry(&r)
	e.closed = true
	return e
}

// indexPorts makes the portIndex of the snapshot.
func (s *Snapshot) indexPorts() *portIndex {
	index := &portIndex{listeners: map[uint16][]listening{}, addresses: map[string][]netip.Addr{}, made: map[madeKey]*xds.ClosedTables{}}
	for e := range s.kinds[xds.ListenerType].entries.All() {
		binding, gateway := e.binding(), gatewayOf(e.Name)
		if _, known := index.addresses[gateway]; !known {
			for _, socket := range binding.Sockets {
				index.addresses[gateway] = append(index.addresses[gateway], socket.Addr())
			}
		}
		if at, ok := placeOf(e.Name); ok {
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
