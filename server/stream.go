package server

import (
	"net"
	"time"

	"github.com/gatefold/gatefold/server/delta"
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
