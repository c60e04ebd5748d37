package server

import (
	"maps"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// What a verdict is can be read off from counts that every stream keeps up to date for
// itself: an Envoy that answers costs what it said, however many others there are. Its
// words are made when it changes, and while it stands, when somebody reads them (refresh).

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
