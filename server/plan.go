package server

import (
	"strconv"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// The bounds of one response whose resources are new to the stream (docs/design/xds.md).
const (
	batchNames = 500
	batchBytes = 1 << 20
)

// wildcard is the name that asks for everything.
const wildcard = "*"

// plan decides what a stream is sent next. The target is the scope's newest
// resources, what is held is what the stream acknowledged, and every message is
// computed from both anew: a newer target replaces what was not sent yet.
//
// The order is docs/design/xds.md's: secrets, clusters and their endpoints, a
// bounded wait for the answer to the clusters, listeners, routes, and removals last. Removed listeners go with the new ones, because a new listener may need
// their address; Envoy removes first.
type plan struct {
	scope  *scope
	opened time.Time
	wait   time.Duration // for the CDS ACK
	// bindRetry is the first wait before a listener whose bind failed is sent again.
	bindRetry time.Duration
	ordered   bool // false sends everything at once: for tests
	ledgers   map[string]*ledger
	nonce     uint64
	now       time.Time // of the last call of next
	// tired is true if next is to be called again at once: fill looked at fillSteps names
	// and found nothing to send yet, or what was sent cannot be said.
	tired bool
	// Listeners and routes wait for the clusters that are unanswered, but for those
	// sent until waived, and for those of barrier: rejected, with no older form to
	// serve on, and when they were sent.
	barrier map[string]time.Time
	waived  time.Time
	// blocked is since when something waits for them.
	blocked time.Time
	// tables are what was learned of the stream's route tables, by name; searches
	// tells that bad routes are searched for, which only Envoy can stand.
	tables map[string]*tableState
	blamed map[string]struct{} // those of them that have refused parts
	// waiting are tables that prepare is to make a form of before they can be sent.
	waiting []string
	// convictions counts changes of what was found in them.
	convictions uint64
	// acquitted are parts that are refused no longer, which the server is to note.
	acquitted []*refusedPart
	searches  bool
	hints     bool  // what other Envoys rejected is left out first: see tableState.hinting
	world     world // nil for the incremental protocol
}

// servedTypes returns the types that are served, in the order of sending.
func servedTypes() []string {
	return []string{
		xds.SecretType, xds.ClusterType, xds.EndpointType,
		xds.ListenerType, xds.RouteType,
	}
}

// next returns the next response, or nil and the time at which to ask again; the
// zero time means that nothing will happen without an answer or an edit.
func (p *plan) next(now time.Time) (*response, time.Time) {
	p.now, p.waiting = now, nil
	if !p.scope.known {
		return nil, time.Time{}
	}
	again := p.rebind(now)
	p.tired = false
	r, until := p.step(now)
	if p.tired && r == nil {
		return nil, now
	}
	if r != nil && p.world != nil && len(r.set) == 0 && !listed(r.typ) {
		p.took(p.book(p.ledgers[r.typ], r.nonce, false, ""), false) // the protocol cannot say it
		p.tired = true
		return nil, now
	}
	return r, earlier(until, again)
}

// step is next but for listeners whose bind failed.
func (p *plan) step(now time.Time) (*response, time.Time) {
	if !p.ordered {
		return p.first(p.fill, servedTypes()...), time.Time{}
	}
	if r := p.first(p.fill, xds.SecretType, xds.ClusterType, xds.EndpointType); r != nil || p.tired {
		return r, time.Time{}
	}
	if until := p.gate(now); !until.IsZero() {
		return nil, until
	}
	if r := p.first(p.fill, xds.ListenerType, xds.RouteType); r != nil || p.tired {
		return r, time.Time{}
	}
	return p.removals(now)
}

// first returns the first response that fill has for types, and books it as sent.
func (p *plan) first(fill func(*ledger) *response, types ...string) *response {
	for _, typ := range types {
		l := p.ledgers[typ]
		if l == nil || len(l.flight) >= maxFlight || p.world != nil && len(l.flight) > 0 {
			continue
		}
		r := fill(l)
		if p.tired {
			return nil
		}
		if r != nil {
			p.nonce++
			r.nonce, r.at = strconv.FormatUint(p.nonce, 36), p.now
			l.book(r)
			return r
		}
	}
	return nil
}

// gate returns the time until which listeners and routes wait, zero when they may
// go. Envoy withholds the CDS ACK until every cluster is warm, which a silent
// resolver delays for a minute: no cluster is waited for longer than p.wait, and
// nothing waits longer than that however often clusters change.
//
// A cluster that Envoy rejected and has no older form of is waited for alike:
// an edit that mends it in time keeps its routes from being sent too early.
// After that they go, because only the routes that name it are hurt, and
// holding them would keep everybody else's edits back.
func (p *plan) gate(now time.Time) time.Time {
	last := p.unsettled()
	if last.IsZero() || p.rest(xds.ListenerType) && p.rest(xds.RouteType) {
		p.blocked = time.Time{}
		return time.Time{}
	}
	if p.blocked.IsZero() {
		p.blocked = now
	}
	if p.blocked.Before(last) {
		last = p.blocked
	}
	if until := last.Add(p.wait); now.Before(until) {
		return until
	}
	clear(p.barrier)
	p.waived, p.blocked = now, time.Time{}
	return time.Time{}
}

// unsettled returns when the last of the clusters was sent that are waited for, zero
// when there is none. A removal is waited for while an edit wants something of it back: the
// Envoy has lost a cluster that cannot be sent again before its answer.
func (p *plan) unsettled() (last time.Time) {
	for _, at := range p.barrier {
		last = latest(last, at)
	}
	if l := p.ledgers[xds.ClusterType]; l != nil {
		for _, r := range l.flight {
			if (len(r.set) > 0 || len(l.again) > 0) && r.at.After(p.waived) {
				last = latest(last, r.at)
			}
		}
	}
	return last
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// rest reports whether nothing of a type is to be sent.
func (p *plan) rest(typ string) bool {
	l := p.ledgers[typ]
	return l == nil || l.rests()
}

// removals takes away what the target no longer has. It waits until all that
// was sent is accepted, because what Envoy still serves by may use it; also by
// a listener or table of which Envoy rejected the new form. A stream that has
// not asked for listeners or routes yet may hold some from a stream before,
// which use clusters too; it is given the time of one barrier to say so.
func (p *plan) removals(now time.Time) (*response, time.Time) {
	asked := true
	for _, typ := range servedTypes() {
		l := p.ledgers[typ]
		if l != nil && !l.idle() {
			return nil, time.Time{}
		}
		if typ != xds.ListenerType && typ != xds.RouteType {
			continue
		}
		if l != nil && l.stale() {
			return nil, time.Time{}
		}
		asked = asked && l != nil
	}
	if until := p.opened.Add(p.wait); !asked && now.Before(until) {
		return nil, until
	}
	return p.first(p.drain, xds.ClusterType, xds.EndpointType,
		xds.RouteType, xds.SecretType), time.Time{}
}

// drain takes the removals that wait; one that was rejected among others goes alone.
// What came back is not among them: decide took it out.
func (p *plan) drain(l *ledger) *response {
	r := &response{typ: l.typ}
	for len(r.removed) < batchNames {
		name, ok := l.gone.peek()
		_, alone := l.alone[name]
		if !ok || alone && r.names() > 0 {
			break
		}
		l.gone.pop()
		if r.removed = append(r.removed, name); alone {
			break
		}
	}
	return r.orNil()
}

// fill makes a response of what is due. Who asks for all of a type is told when
// there is none: an Envoy without clusters would wait 15 s for them before it
// asks for listeners.
func (p *plan) fill(l *ledger) *response {
	r := &response{typ: l.typ}
	spoken := map[string]struct{}{} // which a queue may name twice
	waiting := len(p.waiting)
	defer func() {
		for _, name := range p.waiting[waiting:] {
			l.due.push(name)
		}
	}()
	for size, steps := 0, 0; size < batchBytes && r.names() < batchNames; steps++ {
		name, ok := l.due.peek()
		if !ok {
			break
		}
		if steps == fillSteps {
			p.tired = r.names() == 0
			break
		}
		if _, twice := spoken[name]; twice || l.passes(name) {
			l.due.pop()
			continue
		}
		e, wait := p.shape(l.typ, name, p.scope.entry(l.typ, name))
		if wait {
			l.due.pop()
			spoken[name] = struct{}{}
			continue
		}
		does := l.decide(name, e, p.ordered)
		alone := (does == set || does == remove) && l.goesAlone(name)
		if alone && r.names() > 0 {
			return r
		}
		l.due.pop()
		spoken[name] = struct{}{}
		switch does {
		case nothing:
			p.holds(l, e)
		case set:
			r.probe = p.probes(l.typ, name)
			r.again = r.again || l.rejected.of[name].again
			r.set = append(r.set, e)
			size += e.size()
			p.follow(l, name)
		case remove:
			r.removed = append(r.removed, name)
		case removeLast:
			l.gone.push(name)
		}
		if e == nil && l.typ == xds.ClusterType {
			delete(p.barrier, name)
		}
		if alone {
			return r
		}
	}
	if l.waits && !p.tired {
		return r
	}
	return r.orNil()
}

// fillSteps bounds how many names fill looks at in one call, under the lock.
const fillSteps = 4096

// passes reports whether a due name is not to be looked at now: nobody asks for it, or its
// answer is awaited.
func (l *ledger) passes(name string) bool {
	if !l.wants(name) {
		return true
	}
	if l.inFlight(name) == nil {
		return false
	}
	l.again[name] = struct{}{}
	return true
}

// follow notes what sending a cluster brings with it: its endpoints behind it,
// though they are held. An updated cluster becomes warm
// again only with endpoints that come after it, and Envoy does not ask for them
// (docs/design/envoy.md#changes-without-lost-requests, "Warming rules seen").
func (p *plan) follow(l *ledger, name string) {
	if l.typ != xds.ClusterType {
		return
	}
	endpoints := p.ledgers[xds.EndpointType]
	if l.held.has(name) && endpoints != nil && endpoints.wants(name) {
		endpoints.force[name] = struct{}{}
		endpoints.mark(name)
	}
}

// book notes an ACK or a NACK and gives the response it is for; nil when the
// nonce is not known.
func (p *plan) book(l *ledger, nonce string, nack bool, words string) *response {
	r := l.flight[nonce]
	if r == nil {
		return nil
	}
	if nack {
		l.reject(nonce, words)
	} else {
		l.accept(nonce)
	}
	p.learn(l, r, nack, words)
	if l.typ == xds.ClusterType {
		p.bar(l, r, nack)
	}
	return r
}

// bar finds which clusters of an answered response are waited for.
func (p *plan) bar(l *ledger, r *response, nack bool) {
	for _, e := range r.set {
		switch {
		case l.usable(e.Name):
			delete(p.barrier, e.Name)
		case nack && r.at.After(p.waived):
			p.barrier[e.Name] = r.at
		}
	}
}

// usable reports whether routes to a cluster find it: it was accepted, if only in an
// older form, and no answer is awaited.
func (l *ledger) usable(name string) bool {
	_, again := l.alone[name]
	return l.held.has(name) && !again
}
