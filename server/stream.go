package server

import (
	"cmp"
	"iter"
	"net"
	"strings"
	"time"

	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// stream is one Envoy's discovery stream. The plan and the state are guarded by lock. Only the stream's own
// goroutine sends.
type stream struct {
	*delta.Plan
	scope  *scope
	opened time.Time
	// ofWorld is true for the state-of-the-world protocol. isEnvoy is true if the client says that it is an Envoy.
	ofWorld, isEnvoy bool

	id      uint64
	node    string // node.id: the name of the Envoy in messages, in stage.left and in reporter
	cluster string // node.cluster, which names the Gateway
	canary  bool   // the Envoy is of stage canary: it gets each revision before the others (see stage)
	version string // the version of Envoy; "" if the client does not send it
	peer    string
	// address is the network address of the client. claim is the admin address in the Envoy's node metadata (see
	// server/health).
	address net.Addr
	claim   string
	// identity is the client's name by its certificate; "" without TLS.
	identity string
	wake     chan struct{} // capacity 1
	// unserved is true after tellUnserved was called. Only the stream's goroutine uses it.
	unserved bool
	state    delta.State
	share    // what the stream adds to tallies
	// early has the requests that wait until the scope is known. Only the state-of-the-world protocol uses it.
	early    []*delta.Request
	forgiven bool        // the resources that the Envoy rejected must be sent again: see quarantine.forgive
	usage    usage       // what the stream uses of the limits
	objected delta.Stamp // the Stamp at the last update of the fields refuses and unbound
	revision uint64      // the last result of gateways.heldBy, which returns it while the stream is not idle
}

// retarget makes a newer snapshot the target of the stream: the resources that its Envoy should have. changes has what
// differs, by type. If the stream has requested any of these types, or there was nothing before, retarget wakes the
// stream's goroutine, which sends them.
func (st *stream) retarget(newer *delta.Snapshot, changes map[string][]delta.Change) {
	first := !st.Known()
	if st.Retarget(newer, changes) {
		st.setIdle(false)
		st.poke()
	} else if first {
		st.poke() // the Envoy may have requested all of another type
	}
}

// poke wakes the stream's goroutine, without waiting for it.
func (st *stream) poke() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// old reports whether the Envoy is older than the version that gatefold is fully tested with.
func (st *stream) old() bool { return xds.ReleaseOf(st.version).Before(testedEnvoy()) }

// client returns the name under which the limits count the client: its identity, or its host if it has none.
func (st *stream) client() string { return cmp.Or(st.identity, connect.HostOf(st.address)) }

// setIdle records whether the stream is idle: it has nothing to send and awaits no answer. It also updates the
// count of busy streams.
func (st *stream) setIdle(idle bool) {
	if idle == st.state.Idle {
		return
	}
	st.state.Idle = idle
	if idle {
		st.scope.tally.busy--
	} else {
		st.scope.tally.busy++
	}
}

// asks reports whether the stream requests a route table. It also returns true if Envoy could not bind the
// address of the table's listener, because then Envoy does not request the table.
func (st *stream) asks(table string) bool {
	if st.Asks(xds.RouteType, table) {
		return true
	}
	for listener := range st.unbound {
		if belongs(table, listener) {
			return true
		}
	}
	return false
}

// belongs reports whether a route table belongs to an Envoy listener: the table's name is the listener's name, or
// begins with the listener's name and a slash (listen.RoutesName).
func belongs(table, listener string) bool {
	return table == listener || strings.HasPrefix(table, listener+"/")
}

// scope is a group of Envoys: the newest snapshot (the resources that these Envoys should have), and their streams.
// There is one scope for each Gateway, and one more, the union, for the Envoys that serve all Gateways. A scope is
// guarded by lock.
type scope struct {
	*delta.Snapshot
	// name is "namespace/name" of the Gateway, and "" for the union of all Gateways.
	name    string
	streams map[*stream]struct{}
	tally   tally
	// canaries are the streams of Envoys of stage canary, which get each revision before the others.
	canaries map[*stream]struct{}
	// stage says which changes only the canaries have. It is nil if the scope has no canaries and is not waiting for
	// any canary to connect.
	stage *stage
}

// newScope returns a scope without resources and streams.
func newScope(name string) *scope {
	return &scope{Snapshot: delta.NewSnapshot(), name: name, streams: map[*stream]struct{}{}, canaries: map[*stream]struct{}{}}
}

// retarget gives streams whose target is a snapshot a newer one.
func retarget(streams iter.Seq[*stream], from, to *delta.Snapshot) {
	changes := from.Changes(to)
	for st := range streams {
		st.retarget(to, changes)
	}
}

// tally counts the streams because of which a Gateway is not programmed. Each Gateway has a scope with a tally. The
// streams that serve all Gateways belong to a further scope, the union. Such a stream is counted in the fields
// lacking, refusing and unbound of every Gateway's tally. In the field busy, the stream is counted only in the
// union's tally.
type tally struct {
	busy     int            // streams that are not idle
	lacking  int            // streams that do not request all route tables of the Gateway
	refusing int            // streams that rejected something else than listeners that could not be bound
	unbound  map[string]int // rejections because an address cannot be bound, by listener
}

// share is what one stream adds to the counts (tally) of the Gateways that its Envoy serves. The keys of the maps
// lacks and refuses are scopes of these Gateways; a Gateway with nothing to count has no key. The map unbound has
// the listeners whose address this Envoy cannot bind.
type share struct {
	// lacks counts the route tables that the stream does not request. The tables of unbound listeners do not
	// count, because Envoy does not request them.
	lacks   map[*scope]int
	refuses map[*scope]objection
	unbound map[string]struct{}
}

// objection is what the Envoy of a stream rejects among the resources of one Gateway.
type objection struct {
	some    bool     // the Envoy rejected at least one resource that is not in unbound
	unbound []string // the listeners that the Envoy could not bind
}

// count adds an objection to the tally if the parameter by is 1, and subtracts it if by is -1.
func (t *tally) count(o objection, by int) {
	if o.some {
		t.refusing += by
	}
	for _, listener := range o.unbound {
		if t.unbound == nil {
			t.unbound = map[string]int{}
		}
		if t.unbound[listener] += by; t.unbound[listener] == 0 {
			delete(t.unbound, listener)
		}
	}
}
