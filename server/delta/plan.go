// Package delta decides what one Envoy is sent next over xDS: a state machine for each stream, which
// knows no connection, no lock, no log and no clock.
//
// What goes in: a Target, what the Envoys of a Gateway are to hold, by Put, and Mark for each stream
// that is to look at it; requests of the client, by Answer and Subscribe. What comes out: the next
// response, by Next and Frame; what the Envoy accepted and rejects, by State, Stamp, Rejections
// and TakeRejected. The files in the order of reading:
//
//   - order.go: the types, and the order in which they are sent
//   - target.go, response.go: a Gateway's resources, each encoded once for all streams
//   - plan.go, fill.go, decide.go, bind.go: what is sent next
//   - moves.go: addresses that move between listeners
//   - ledger.go, roll.go, queue.go: what a stream asked for, was sent, accepted and rejected of a type
//   - subscribe.go, answer.go: what a request changes
//   - tables.go, search.go, pause.go, forms.go, forgive.go: route tables without the parts that the Envoy rejects
//   - older.go: resources without what an older Envoy lacks
//   - generation.go: tables for listeners that an earlier gatefold sent
//   - world.go: the same in the state-of-the-world protocol
//   - state.go: what others may know of a plan
//
// The caller guards a Target and its plans with one lock. Each plan has one goroutine that calls what
// changes it. Work that takes time in the number of names or in the size of a table is in steps (Step),
// between which others have the lock.
package delta

import (
	"slices"
	"strconv"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// Wildcard is the name that asks for everything.
const Wildcard = "*"

// Plan decides what a stream is sent next. It compares the target, which its Envoy should have,
// with what the stream has acknowledged, for every message anew. So a newer target replaces what
// was not sent yet.
//
// The order of types is in order.go. Before listeners and routes there is a limited wait for the
// answer to the clusters (gate). Removals are last.
type Plan struct {
	options Options
	target  *Target
	// release is that of Options.Version; older reports that it lacks something.
	release xds.Release
	older   bool
	ledgers map[string]*ledger // by type; of those that were asked for
	nonce   uint64
	now     time.Time // of the last call of Next
	// tired is true if Next is to be called again at once: fill looked at fillSteps names
	// and found nothing to send yet, or what was sent cannot be said.
	tired bool
	// Listeners and routes wait for the clusters that are unanswered, but for those
	// sent until waived, and for those of barrier: rejected, with no older form to
	// serve on, and when they were sent.
	barrier map[string]time.Time
	waived  time.Time
	// blocked is since when something waits for them.
	blocked time.Time
	// tables are what was learned of the stream's route tables and of its filter, by name; searches
	// reports that bad routes are searched for, which only Envoy can stand.
	tables       map[string]*tableState
	searches     bool
	withRejected map[string]struct{} // those of tables that have rejected parts
	// waiting are tables that Prepare is to make a form of before they can be sent.
	waiting []string
	// findings counts changes of what was found in them.
	findings uint64
	// newRejected are parts that are rejected since the last call of TakeRejected, cleared those
	// that are rejected no longer.
	newRejected, cleared []*RejectedPart
	world                world // nil for the incremental protocol
	moves                moves
	withheld             bool // nothing is sent
}

// Options are the inputs of a plan other than its stream.
type Options struct {
	// Opened is when the stream began.
	Opened time.Time
	// Wait bounds how long listeners and routes wait for the answer to their clusters.
	Wait time.Duration
	// BindRetry is the first wait before a listener whose bind failed is sent again.
	BindRetry time.Duration
	// Unordered sends everything at once, removals included.
	Unordered bool
	// Envoy is true if the client is an Envoy: the routes that it rejects are searched for.
	Envoy bool
	// Version is that of Envoy, such as "1.38.3", "" where the client did not tell: what an older Envoy
	// lacks is not sent to it.
	Version string
	// World is true for the state-of-the-world protocol.
	World bool
}

// New returns the plan of a stream that has asked for nothing yet. The lock of the target also
// protects the plan.
func New(target *Target, options Options) *Plan {
	release := xds.ReleaseOf(options.Version)
	p := &Plan{
		options: options, target: target, release: release, older: release.Before(xds.Newest()), ledgers: map[string]*ledger{}, barrier: map[string]time.Time{},
		tables: map[string]*tableState{}, searches: options.Envoy, withRejected: map[string]struct{}{}, moves: newMoves(),
	}
	if options.World {
		p.world = world{}
	}
	return p
}

// Known reports whether the target ever had a resource.
func (p *Plan) Known() bool { return p.target.known }

// Withhold stops all sending, or with false resumes it. Meanwhile the Envoy keeps what it has.
func (p *Plan) Withhold(withheld bool) { p.withheld = withheld }

// Retarget gives the plan another target, which has the same resources as its own.
func (p *Plan) Retarget(same *Target) { p.target = same }

// Mark notes that resources of the target changed. The caller must not change names. It reports
// whether the stream asked for the type.
func (p *Plan) Mark(typ string, names []string) bool {
	l := p.ledgers[typ]
	if l != nil {
		l.markAll(names)
		switch typ {
		case xds.RouteType:
			l.markEarlier(names)
		case xds.ListenerType:
			l.look()
		}
	}
	return l != nil
}

// Next returns the next response, which the caller must send, or nil and the time to call it again.
// The zero time means that nothing is due until an answer or an edit. Next also returns nil if
// something else must be done first: see Waiting and Tired.
func (p *Plan) Next(now time.Time) (*Response, time.Time) {
	p.now, p.waiting = now, nil
	if !p.target.known || p.withheld {
		return nil, time.Time{}
	}
	again := p.rebind(now)
	p.tired = false
	r, until := p.step(now)
	if p.tired && r == nil {
		return nil, now
	}
	if r != nil && p.world != nil && len(r.Set) == 0 && !listed(r.Type) {
		p.book(p.ledgers[r.Type], r.nonce, "", false) // the protocol cannot say it
		p.tired = true
		return nil, now
	}
	return r, earlier(until, again)
}

// step is Next without the retries of failed binds.
func (p *Plan) step(now time.Time) (*Response, time.Time) {
	if p.options.Unordered {
		return p.first(p.fill, Types()...), time.Time{}
	}
	if r := p.first(p.fill, referredTypes()...); r != nil || p.tired {
		return r, time.Time{}
	}
	if until := p.gate(now); !until.IsZero() {
		return nil, until
	}
	if r := p.first(p.fill, xds.ListenerType, xds.FilterType); r != nil || p.tired {
		return r, time.Time{}
	}
	p.releaseTables()
	if r := p.first(p.fill, xds.RouteType); r != nil || p.tired {
		return r, time.Time{}
	}
	return p.removals(now)
}

// Waiting reports whether Prepare must be called before everything that is due can be sent.
func (p *Plan) Waiting() bool { return len(p.waiting) > 0 }

// Tired reports whether Next should be called again at once: it has compared many names without a
// response, and other streams should have their turn.
func (p *Plan) Tired() bool { return p.tired }

// first returns the first response that fill makes for one of the types, and records it as sent.
func (p *Plan) first(fill func(*ledger) *Response, types ...string) *Response {
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

// gate returns the time until which listeners and routes wait, zero if they may be sent. Envoy
// sends the CDS ACK only after every cluster is warm, and a resolver that does not answer delays
// that for a minute. So nothing waits longer than Options.Wait for a cluster, however often
// clusters change.
//
// A rejected cluster without an older form is waited for in the same way: an edit that fixes it in
// time prevents that its routes are sent too early. After that time listeners and routes are sent.
// Only routes that name the cluster fail then, while waiting longer would delay all other edits.
func (p *Plan) gate(now time.Time) time.Time {
	last := p.unsettled()
	if last.IsZero() || !slices.ContainsFunc(referringTypes(), p.due) {
		p.blocked = time.Time{}
		return time.Time{}
	}
	if p.blocked.IsZero() {
		p.blocked = now
	}
	if p.blocked.Before(last) {
		last = p.blocked
	}
	if until := last.Add(p.options.Wait); now.Before(until) {
		return until
	}
	clear(p.barrier)
	p.waived, p.blocked = now, time.Time{}
	return time.Time{}
}

// unsettled returns when the last of the clusters was sent that others wait for, zero if there is
// none. A removal is waited for if an edit wants the resource back, because it cannot be sent again
// before the answer.
func (p *Plan) unsettled() (last time.Time) {
	for _, at := range p.barrier {
		last = latest(last, at)
	}
	if l := p.ledgers[xds.ClusterType]; l != nil {
		for _, r := range l.flight {
			if (len(r.Set) > 0 || len(l.again) > 0) && r.at.After(p.waived) {
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

// due reports whether something of a type must be sent.
func (p *Plan) due(typ string) bool {
	l := p.ledgers[typ]
	return l != nil && !l.rests()
}

// removals returns a response with removals. It waits until everything that was sent is accepted,
// because what Envoy still serves may use the removed resources. This includes a listener or table
// whose new form Envoy rejected. A stream that has not asked for listeners or routes yet may have
// some from an earlier stream, and gets the time of one gate to report them. Streams of Envoys
// without HTTP never ask for filters.
func (p *Plan) removals(now time.Time) (*Response, time.Time) {
	asked := true
	for _, typ := range Types() {
		l := p.ledgers[typ]
		if l != nil && !l.idle() {
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
