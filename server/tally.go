package server

import (
	"maps"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// The status of a Gateway is computed from counts, to which each stream adds its own share. So the cost of an
// answer does not depend on how many other Envoys there are. The message of a verdict is made when the status
// changes. While the status stays the same, the message is made when the board is read (verdicts.refresh).

// lack updates the number of route tables of the Gateway c that the stream does not request: it adds the parameter
// change to the stored number. The parameter is negative if the stream now requests more of the tables.
func (v *verdicts) lack(st *stream, c *scope, change int) {
	before := st.lacks[c]
	now := before + change
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

// recount counts, for each Gateway of the stream, the route tables that the stream does not request. If Envoy
// could not bind the address of a listener, the listener's tables count as requested.
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

// retable is called after the Gateway of c got a route table (the parameter by is 1) or lost one (by is -1). For
// each stream that serves the Gateway and does not request this table, retable adds 1 or -1 to the number of tables
// that the stream does not request.
func (v *verdicts) retable(c *scope, table string, by int) {
	for _, streams := range []map[*stream]struct{}{c.streams, v.union.streams} {
		for st := range streams {
			if !st.asks(table) {
				v.lack(st, c, by)
			}
		}
	}
}

// object records in st which resources the stream's Envoy rejects (see objection). It also updates the tallies of
// the Gateways that have these resources. It does nothing if neither the rejections nor the resources changed since
// the last call.
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

// setRefuses stores in st.refuses what the Envoy of the stream now rejects, for each Gateway (the parameter now). It
// replaces the earlier value, and changes the tallies of these Gateways accordingly.
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

// objections returns, for each Gateway, what the stream's Envoy rejects among the resources of this Gateway. The key
// of the map is the Gateway's scope. A Gateway without rejected resources has no key.
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

// withdraw is called after a stream ended. It removes what the stream added to the counts of its Gateways.
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
	for _, c := range v.scopes { // they may have no Envoy left
		v.touched[c] = struct{}{}
	}
}
