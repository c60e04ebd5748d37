package server

import (
	"maps"
	"strings"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// What a verdict is can be read off from counts that every stream keeps up to date for
// itself: an Envoy that answers costs what it said, however many others there are. Its
// words are made when it changes, and while it stands, when somebody reads them (refresh).

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

// lack books that the stream does not ask for so many more of a Gateway's tables.
func (v *verdicts) lack(st *stream, c *scope, more int) {
	before := st.lacks[c]
	now := before + more
	if st.lacks == nil {
		st.lacks = map[*scope]int{}
	}
	if st.lacks[c] = now; now == 0 {
		delete(st.lacks, c)
	}
	if by := min(now, 1) - min(before, 1); by != 0 {
		c.tally.lacking += by
		v.touched[c] = struct{}{}
	}
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// recount counts all tables that the stream does not ask for.
func (v *verdicts) recount(st *stream) {
	for _, c := range v.served(st) {
		lacks := 0
		for name := range c.Names(xds.RouteType) {
			if !st.asks(name) {
				lacks++
			}
		}
		v.lack(st, c, lacks-st.lacks[c])
	}
}

// retable books that a Gateway has one more table, or one less.
func (v *verdicts) retable(c *scope, table string, by int) {
	for _, streams := range []map[*stream]struct{}{c.streams, v.union.streams} {
		for st := range streams {
			if !st.asks(table) {
				v.lack(st, c, by)
			}
		}
	}
}

// object counts what the stream rejects. It looks at that only when that, or what its
// Gateway has, changed.
func (v *verdicts) object(st *stream) {
	if st.state.Rejections == 0 && len(st.refuses) == 0 && len(st.unbound) == 0 {
		return
	}
	now := st.Stamp()
	if now == st.objected {
		return
	}
	st.objected = now
	if unbound := st.Unbound(); !maps.Equal(unbound, st.unbound) {
		st.unbound = unbound
		v.recount(st)
	}
	v.setRefuses(st, v.objections(st))
}

// setRefuses counts these objections of the stream, and no longer those of before.
func (v *verdicts) setRefuses(st *stream, now map[*scope]objection) {
	for c, o := range st.refuses {
		c.tally.count(o, -1)
		v.touched[c] = struct{}{}
	}
	for c, o := range now {
		c.tally.count(o, 1)
		v.touched[c] = struct{}{}
	}
	st.refuses = now
}

// objections finds what the stream rejects, by Gateway.
func (v *verdicts) objections(st *stream) map[*scope]objection {
	out := map[*scope]objection{}
	against := func(typ, name string, unbound bool) {
		for gateway := range st.scope.Owners(typ, name) {
			c := v.scopes[gateway]
			o := out[c]
			if unbound {
				o.unbound = append(o.unbound, name)
			}
			o.some = o.some || !unbound
			out[c] = o
		}
	}
	for r := range st.Rejections() {
		against(r.Type, r.Name, delta.BindFailed(r.Words))
	}
	for typ, name := range st.RejectedTables() {
		against(typ, name, false)
	}
	return out
}

// withdraw takes a stream that leaves out of all counts.
func (v *verdicts) withdraw(st *stream) {
	st.setIdle(true)
	for c, lacks := range maps.Clone(st.lacks) {
		v.lack(st, c, -lacks)
	}
	v.setRefuses(st, nil)
	v.touched[st.scope] = struct{}{}
	if st.scope != v.union || len(v.union.streams) > 0 {
		return
	}
	for _, c := range v.scopes { // that may have no Envoy left
		v.touched[c] = struct{}{}
	}
}
