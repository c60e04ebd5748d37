// Package delta decides what one Envoy is sent next over xDS. It is a state machine for each stream, without
// connections, locks, logs or clocks.
//
// The inputs are snapshots and the requests of the client (Answer, Subscribe). A Snapshot has the resources that
// the Envoys of a Gateway should have. It never changes; With makes the next one, which Retarget gives a stream. The
// outputs are the next response (Next, Frame), and what the Envoy accepted and rejected (State, Stamp,
// Rejections, TakeRejected). The files, in the order in which to read them:
//
//   - order.go: the types, and the order in which they are sent
//   - snapshot.go, entries.go, response.go: a Gateway's resources, each encoded once for all streams
//   - plan.go, fill.go, decide.go, bind.go: what is sent next
//   - moves.go: addresses that move between listeners
//   - ledger.go, told.go, names.go, words.go: what a stream requested, was sent, accepted and rejected of a type
//   - subscribe.go, answer.go: what a request changes
//   - filters.go: JWT filters, and the routes that need them
//   - tables.go, rejected.go, search.go, pause.go, forms.go, forgive.go: route tables without the parts that
//     the Envoy rejects
//   - older.go: resources without the features that an older Envoy does not have
//   - generation.go: tables for listeners that an earlier gatefold sent
//   - closed.go: answers for route tables that are gone, but that the Envoy still requests
//   - world.go: the state-of-the-world protocol
//   - state.go: what others may read of a plan
//
// The caller guards plans with one lock. Only one goroutine calls the methods that change a
// plan. If the time of some work grows with the number of names or the size of a table, the work is done in
// steps (Step). The caller can unlock between two steps.
package delta

import (
	"slices"
	"strconv"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// Wildcard is the name that subscribes to all names of a type.
const Wildcard = "*"

// Plan decides what a stream is sent next. For each response, it compares the target (the resources that the Envoy
// should have) with what the Envoy acknowledged. So a newer target replaces what was not sent yet.
//
// The order of types is in order.go. Listeners and routes wait for a bounded time for the answer to the
// clusters (gate). Removals are last.
type Plan struct {
	*stream
	tables
	gate  gate
	moves moves
	nonce uint64
	// tired is true if Next returned no response, although there may be more to send, for one of two reasons:
	//   - fill settled fillSteps names, and found nothing to send among them.
	//   - The response would have been one without resources, for example with only removals. The
	//     state-of-the-world protocol has no such message for this type of resource (see listed). So Next sent
	//     nothing, and booked the response as accepted.
	tired    bool
	withheld bool // nothing is sent
}

// stream is what the parts of a plan share: the target, and what the client requested.
type stream struct {
	options Options
	target  *Snapshot
	release xds.Release        // of Options.Version
	older   bool               // release lacks a feature that the newest release has
	ledgers map[string]*ledger // by type, of the types that the client requested
	now     time.Time          // of the last call of Plan.Next
}

// Options are the settings of a plan.
type Options struct {
	// Opened is when the stream began.
	Opened time.Time
	// Wait bounds how long listeners and routes wait for the answer to clusters, and how long removals wait for a
	// client that has not requested listeners and routes yet.
	Wait time.Duration
	// Gateway is the Gateway, as "namespace/name", whose route tables the client may get; "" for all Gateways.
	Gateway string
	// BindRetry is how long a listener whose bind failed waits at first until it is sent again.
	BindRetry time.Duration
	// Envoy is true if the client is an Envoy. Then bad routes are searched for in the route tables that it
	// rejects.
	Envoy bool
	// Version is the version of Envoy, such as "1.38.3"; "" if the client does not send it. Features that an older
	// Envoy does not have are not sent to it.
	Version string
	// World is true for the state-of-the-world protocol.
	World bool
}

// New returns the plan of a stream that has not requested anything yet.
func New(target *Snapshot, options Options) *Plan {
	release := xds.ReleaseOf(options.Version)
	all := &stream{options: options, target: target, release: release, older: release.Before(xds.Newest()), ledgers: map[string]*ledger{}}
	p := &Plan{
		stream: all, gate: gate{stream: all, barrier: map[string]time.Time{}}, moves: newMoves(all),
		tables: tables{stream: all, searches: options.Envoy, rejectedParts: newRejectedParts()},
	}
	return p
}

// Known reports whether the stream's target (the resources that its Envoy should have) ever had a resource of any
// type. Until then, no request on the stream is answered.
func (s *stream) Known() bool { return s.target.known }

// Withhold stops all sending if withheld is true, and resumes it if withheld is false. While sending is stopped,
// the Envoy keeps the configuration that it has.
func (p *Plan) Withhold(withheld bool) { p.withheld = withheld }

// Retarget makes a newer snapshot the target. The parameter changes has what differs from the present one, by type (see
// Snapshot.Changes). Retarget reports whether the stream has requested any of the types.
func (p *Plan) Retarget(newer *Snapshot, changes map[string][]Change) (asked bool) {
	p.target = newer
	if len(changes[xds.ListenerType]) > 0 {
		p.markClosed()
	}
	for typ, of := range changes {
		l := p.ledgers[typ]
		if l == nil {
			continue
		}
		asked = true
		l.keepGone(of)
		for name := range l.unmoved {
			l.look(name)
		}
		if typ == xds.RouteType {
			p.noteTables(l, of)
		}
	}
	return asked
}

// noteTables is called after route tables of the target changed.
func (p *Plan) noteTables(l *ledger, changes []Change) {
	var names, gone []string
	for _, c := range changes {
		if names = append(names, c.Name()); c.To == nil {
			gone = append(gone, c.Name())
		}
	}
	p.noteGone(l, gone)
	p.noteGone(l, l.markEarlier(names))
}

// Next returns the next response, which the caller must send. If there is none, it returns nil and the time at
// which to call Next again; the zero time means after the next answer or edit. Next also returns nil if the
// caller must first call Prepare (see Waiting), or should call Next again at once (see Tired).
func (p *Plan) Next(now time.Time) (*Response, time.Time) {
	p.now, p.waiting = now, nil
	if !p.target.known || p.withheld {
		return nil, time.Time{}
	}
	again := p.moves.rebind(now)
	p.tired = false
	r, until := p.step(now)
	if p.tired && r == nil {
		return nil, now
	}
	if r != nil && p.options.World && len(r.Set) == 0 && !listed(r.Type) {
		p.book(p.ledgers[r.Type], r.nonce, "", false) // the protocol has no message for this
		p.tired = true
		return nil, now
	}
	return r, earlierNonZero(earlierNonZero(until, again), p.nextClosing())
}

// step does the work of Next, except the retries of failed binds: it returns the next response, or nil and the
// time at which to try again; zero means after the next answer or edit.
func (p *Plan) step(now time.Time) (*Response, time.Time) {
	if r := p.first(p.closeTables, xds.RouteType); r != nil || p.tired {
		return r, time.Time{}
	}
	if r := p.first(p.fill, referredTypes()...); r != nil || p.tired {
		return r, time.Time{}
	}
	if until := p.gate.until(now); !until.IsZero() {
		return nil, until
	}
	if r := p.first(p.fill, xds.ListenerType, xds.FilterType); r != nil || p.tired {
		return r, time.Time{}
	}
	if r := p.first(p.fill, xds.RouteType); r != nil || p.tired {
		return r, time.Time{}
	}
	return p.removals(now)
}

// Tired reports whether the last call of Next returned no response, although there may be more to send (see
// Plan.tired). The caller should let other streams proceed, and then call Next again without waiting.
func (p *Plan) Tired() bool { return p.tired }

// first calls fill for each of the types, in order, until fill returns a response, and records the response as
// sent. It returns nil if there is none, or if p.tired is set. It skips a type with maxFlight unanswered
// responses. In the state-of-the-world protocol it skips a type with any unanswered response.
func (p *Plan) first(fill func(*ledger) *Response, types ...string) *Response {
	for _, typ := range types {
		l := p.ledgers[typ]
		if l == nil || len(l.flight) >= maxFlight || p.options.World && len(l.flight) > 0 {
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

// due reports whether any name of a type is still to be compared or sent, now or after a wait. Removals that are
// sent last do not count.
func (s *stream) due(typ string) bool {
	l := s.ledgers[typ]
	return l != nil && !l.nothingDue()
}

// removals returns a response that removes resources. If there is none, it returns nil and the time to try again;
// the zero time means after the next answer or edit. Removals wait in these cases:
//   - Other changes are still to be sent, or not yet answered. Route tables that are still to be closed are among them.
//   - Envoy rejected the new form of a listener, filter or route table, and still serves the older form. The older
//     form may use the resources that are to be removed.
//   - The client has not requested listeners or route tables on this stream yet. The client may have some from an
//     earlier stream, which may use the resources. This wait ends when Options.Wait has passed since the stream
//     began.
//
// Removals do not wait until the client requests filters, because an Envoy without HTTP listeners never does.
func (p *Plan) removals(now time.Time) (*Response, time.Time) {
	asked := true
	for _, typ := range Types() {
		l := p.ledgers[typ]
		if l != nil && (!l.idle() || !l.waiting.empty()) {
			return nil, time.Time{}
		}
		if !slices.Contains(referringTypes(), typ) {
			continue
		}
		if l != nil && l.stale() {
			return nil, time.Time{}
		}
		asked = asked && (l != nil || typ == xds.FilterType)
	}
	if until := p.options.Opened.Add(p.options.Wait); !asked && now.Before(until) {
		return nil, until
	}
	return p.first(p.drain, removedTypes()...), time.Time{}
}
