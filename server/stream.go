package server

import (
	"cmp"
	"net"
	"strings"
	"time"

	"github.com/gatefold/gatefold/server/connect"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// stream is one Envoy's discovery stream. The plan and the state are guarded by
// lock; the stream's own goroutine alone sends.
type stream struct {
	*delta.Plan
	scope  *scope
	opened time.Time
	// ofWorld is true for the state-of-the-world protocol, isEnvoy if the client says that it is one.
	ofWorld, isEnvoy bool

	id      uint64
	node    string // node.id: for people only
	cluster string // node.cluster: names the Gateway
	canary  bool   // it is sent revisions first: see stage
	version string // of Envoy, "" when it did not tell
	peer    string
	// address is where peer is from, claim what the Envoy's metadata says of its admin
	// address: see server/health.
	address net.Addr
	claim   string
	// identity is what its certificate says, "" without TLS.
	identity string
	wake     chan struct{} // capacity 1
	// unserved is true if a warning was given; it is the goroutine's own.
	unserved bool
	state    delta.State
	share    // of tallies
	// early are requests that wait until the scope is known; of the state-of-the-world
	// protocol alone.
	early    []*delta.Request
	forgiven bool        // what was rejected is to be tried again: see quarantine.forgive
	usage    usage       // of limits
	objected delta.Stamp // what refuses and unbound were made of
	revision uint64      // the newest that the Envoy acknowledged, unless it is idle: see gateways.heldBy
}

// mark notes that resources of the target changed; names is never changed.
func (st *stream) mark(typ string, names ...string) {
	if st.Mark(typ, names) {
		st.setIdle(false)
		st.poke()
	}
}

// poke wakes the stream's goroutine without waiting for it.
func (st *stream) poke() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// old reports whether the Envoy is older than those that gatefold is tested with in full.
func (st *stream) old() bool { return xds.ReleaseOf(st.version).Before(testedEnvoy()) }

// client names whose limit of streams a stream counts for.
func (st *stream) client() string { return cmp.Or(st.identity, connect.HostOf(st.address)) }

// setIdle books that the stream has nothing to do, or that it has.
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

// asks reports whether a table is asked for, or need not be.
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

// belongs reports whether a table is of an Envoy listener: its name begins with the listener's
// (listen.RoutesName).
func belongs(table, listener string) bool {
	return table == listener || strings.HasPrefix(table, listener+"/")
}

// scope is a target with the streams that it is for. It is guarded by lock.
type scope struct {
	*delta.Target
	// name is "namespace/name", "" for the union of all Gateways.
	name    string
	changed map[string][]string // names by type that streams are not told of yet
	fresh   bool                // nor that the target is known
	streams map[*stream]struct{}
	tally   tally
	// canaries are those of streams that are sent revisions first.
	canaries map[*stream]struct{}
	stage    *stage // nil while it has no canaries
}

func newScope(name string) *scope {
	return &scope{Target: delta.NewTarget(), name: name, changed: map[string][]string{}, streams: map[*stream]struct{}{}, canaries: map[*stream]struct{}{}}
}

// put applies one update, of which tell tells the streams.
func (c *scope) put(u delta.Update) {
	known := c.Known()
	c.Put(u)
	if c.stage != nil {
		c.stage.put(u)
	}
	c.fresh = c.fresh || c.Known() != known
	c.changed[u.Type] = append(c.changed[u.Type], u.Name)
}

// tell marks for every stream what was put since the last call; those that wait for canaries are told when it is
// promoted.
func (c *scope) tell() {
	for st := range c.streams {
		if !st.canary && c.stage != nil && c.stage.promoted != nil {
			continue
		}
		for typ, names := range c.changed {
			st.mark(typ, names...)
		}
		if c.fresh { // it may have asked for all of another type
			st.poke()
		}
	}
	clear(c.changed)
	c.fresh = false
}

// tally counts the streams that keep a Gateway from being programmed. Those of all
// Gateways count as its own, but for busy, which is counted in the union.
type tally struct {
	busy     int            // that are not idle
	lacking  int            // that do not ask for all of its tables
	refusing int            // that rejected a part of it
	unbound  map[string]int // rejections because an address cannot be bound, by listener
}

// share is what a stream adds to tallies, by the Gateway's scope.
type share struct {
	// lacks are how many tables it does not ask for, but those of unbound listeners:
	// nothing asks for them.
	lacks   map[*scope]int
	refuses map[*scope]objection
	unbound map[string]struct{}
}

// objection is what of a Gateway a stream rejected.
type objection struct {
	some    bool     // more than listeners that it could not bind
	unbound []string // those
}

// count adds an objection to the tally, or with by -1 takes it out.
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
