package server

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/board"
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

// standing is what of a verdict is no words.
type standing struct {
	status  metav1.ConditionStatus
	reason  string
	unbound map[string]int // its keys alone count
	// waits is true if it is not programmed yet, and has Envoys.
	waits bool
}

// standing reads off how things stand with a Gateway.
func (v *verdicts) standing(c *scope) standing {
	t, connected := &c.tally, len(c.streams)+len(v.union.streams) > 0
	pending := standing{status: metav1.ConditionFalse, reason: string(gwv1.GatewayReasonPending), waits: connected}
	switch {
	case v.absent(c.name) != "" || !connected:
		return pending
	case t.refusing > 0:
		return standing{status: metav1.ConditionFalse, reason: string(gwv1.GatewayReasonInvalid)}
	case t.busy+v.union.tally.busy+t.lacking > 0:
		pending.unbound = t.unbound
		return pending
	}
	return standing{status: metav1.ConditionTrue, reason: string(gwv1.GatewayReasonProgrammed), unbound: t.unbound}
}

// of reports whether a verdict says nothing else than this, but for words.
func (now standing) of(v board.Verdict) bool {
	same := now.status == v.Status && now.reason == v.Reason && len(now.unbound) == len(v.Unbound)
	for listener := range now.unbound {
		_, known := v.Unbound[listener]
		same = same && known
	}
	return same
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
	for name := range st.RejectedTables() {
		against(xds.RouteType, name, false)
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

// judgeTouched judges the Gateways whose Envoys' answers changed. An answer of an Envoy
// of all Gateways may be the last that those wait for that are not programmed.
func (v *verdicts) judgeTouched() {
	_, all := v.touched[v.union]
	delete(v.touched, v.union)
	for c := range v.touched {
		v.judge(c, false)
	}
	clear(v.touched)
	if !all {
		return
	}
	if v.union.tally.busy > 0 {
		v.outdateOpen()
		return
	}
	for _, waiting := range []map[string]struct{}{v.open, v.suspended} {
		for gateway := range waiting {
			v.judge(v.scopeOf(gateway), false)
		}
	}
}

// judge has the verdict on a Gateway shown when it is another; listeners tells that its
// listeners changed just now. Programmed speaks of listeners: while an edit of routes or
// backends is on its way, a Gateway stays programmed.
func (v *verdicts) judge(c *scope, listeners bool) {
	before, judged := v.given[c.name]
	now := v.standing(c)
	if now.waits && before.Status == metav1.ConditionTrue && !listeners {
		v.suspended[c.name] = struct{}{}
		return
	}
	delete(v.suspended, c.name)
	if !judged || !now.of(before) {
		verdict := v.verdict(c.name)
		v.set(c.name, verdict)
		v.announced.announce(c.name, verdict)
		return
	}
	if _, outdated := v.outdated[c.name]; outdated || now.status != metav1.ConditionTrue {
		v.outdate(c.name)
	}
}

// restate has the words of verdicts made anew that speak of streams of c.
func (v *verdicts) restate(c *scope) {
	if c != v.union {
		v.outdate(c.name)
		return
	}
	for gateway := range v.scopes {
		v.outdate(gateway)
	}
}

// refresh makes the messages of verdicts again where they may be others by now, for a reader of
// the board.
func (v *verdicts) refresh() {
	for gateway := range v.inQuestion() {
		before, judged := v.given[gateway]
		if !judged || !v.standing(v.scopeOf(gateway)).of(before) {
			continue // until its Envoys have answered: see judge
		}
		if now := v.verdict(gateway); now.Equal(before) {
			delete(v.outdated, gateway)
		} else {
			v.set(gateway, now)
		}
	}
}
