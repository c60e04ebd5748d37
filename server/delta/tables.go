package delta

import (
	"iter"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/translate/xds"
)

// Envoy rejects a table for one bad route, and seldom reports which route is bad (docs/design/envoy.md#nacks).
// Then no later edit of the table would be served either. So each stream finds the bad parts by itself
// (search.go), and is sent the table without them: docs/design/rejections.md.
//
// Work whose time grows with the size of a route table is done by Prepare, between its steps. Next only records
// which tables wait for Prepare.

// tables has what a plan learned about route tables and JWT filters: which of them the stream's Envoy accepted, and
// which parts of them it rejected.
type tables struct {
	*stream
	rejectedParts
	// searches is true if the bad parts of rejected resources are searched for. It is false if the client is not
	// an Envoy.
	searches bool
	// waiting are the route tables that cannot be sent yet: Prepare must first make the form that this Envoy
	// gets.
	waiting []string
}

// Waiting reports whether a due route table cannot be sent before the caller has called Prepare.
func (ts *tables) Waiting() bool { return len(ts.waiting) > 0 }

// tableState is the state of one route table or filter on a stream. Only the stream's own goroutine changes it,
// except notQuarantined, which Quarantine also changes. Other goroutines use accepted, rejected and notQuarantined,
// so these change only under the lock that guards the plan.
type tableState struct {
	typ            string
	accepted       *Entry // the form that the Envoy accepted last; nil if not known, as after a reconnect
	rejected       map[xds.Part]*RejectedPart
	notQuarantined int     // the number of rejected parts that are not in quarantine
	search         *search // nil if no search is running
	// readyFor is the complete resource, as the target has it. ready is the form that the Envoy gets instead: for
	// example a probe, or the resource without its bad parts. ready is nil until it is made.
	ready, readyFor *Entry
	// unsearchable is the version of the route table in which a search found no bad part; "" if there is none.
	unsearchable string
	// hinting is true for a first attempt before the probes of a search: the Envoy gets the route table without the
	// parts that other Envoys rejected. If the Envoy accepts this, it need not wait for a search before it serves.
	// Only an Envoy without a table gets this attempt. hadHints is true after the attempt.
	hinting, hadHints bool
	pausing           bool // ready is the table for a pause of the search: see tables.pause
}

// Accepted reports whether the Envoy accepted the current version of a route table or filter, with the given part
// (such as a route) in it. The result is false if the Envoy was sent the table without this part, or with a
// replacement that answers 500.
func (ts *tables) Accepted(table string, part xds.Part) bool {
	t := ts.states[table]
	return t != nil && t.accepted != nil && t.accepted.source() == ts.target.Entry(part.Type(), table) && !t.accepted.leftOut[part]
}

// ForgetTables removes the state of all route tables and filters. Their rejected parts no longer count as
// rejected: the next call of TakeRejected returns them as cleared.
func (ts *tables) ForgetTables() {
	for name := range ts.states {
		ts.forgetTable(name)
	}
}

// tableOf returns the state of a route table or filter on this stream. If there is none, it adds an empty state.
func (ts *tables) tableOf(typ, name string) *tableState {
	t := ts.states[name]
	if t == nil {
		t = &tableState{typ: typ, rejected: map[xds.Part]*RejectedPart{}}
		ts.states[name] = t
	}
	return t
}

// shape returns the form in which the resource e is sent to this stream's Envoy: e itself, or a variant of it, for
// example without the parts that the Envoy rejects. shaped is nil if the resource is to be removed. wait is true if
// nothing can be sent yet: Prepare must first make the variant of a route table, or a listener needs an address that
// another listener still has.
func (p *Plan) shape(typ, name string, e *Entry) (shaped *Entry, wait bool) {
	t := p.states[name]
	if typ == xds.RouteType && (e != nil || !p.closable(name)) {
		p.ledgers[typ].closings.drop(name)
	}
	switch {
	case typ == xds.RouteType && e == nil && p.closable(name):
		return p.closedForm(name)
	case typ == xds.FilterType && e != nil:
		return p.filter(e), false
	case typ == xds.ListenerType && e != nil && p.older:
		return p.moves.moved(name, e.formFor(p.release))
	case typ == xds.ListenerType:
		return p.moves.moved(name, e)
	case typ == xds.RouteType && e != nil && (p.older || e.Name != name):
		return p.readyTable(name, e)
	case typ != xds.RouteType && typ != xds.FilterType || t == nil:
		return e, false
	case e == nil:
		p.forgetTable(name)
		return nil, false
	case t.search == nil && len(t.rejected) == 0:
		return e, false
	}
	return p.readyTable(name, e)
}

// readyTable returns the variant of the route table e that Prepare made for this Envoy. If Prepare must make it
// first, shaped is nil, wait is true, and the table is added to ts.waiting.
func (ts *tables) readyTable(name string, e *Entry) (shaped *Entry, wait bool) {
	if t := ts.tableOf(xds.RouteType, name); t.ready != nil && (t.search != nil || t.readyFor == e) {
		return t.ready, false
	}
	ts.waiting = append(ts.waiting, name)
	return nil, true
}

// probes reports whether the table that is sent next for the given name is a probe. A probe is a test table that a
// search sends to find out which parts of a route table the Envoy rejects (xds.Probe). probes returns false for
// other types of resources.
func (ts *tables) probes(typ, name string) bool {
	t := ts.states[name]
	return typ == xds.RouteType && t != nil && t.search != nil && !t.hinting && !t.pausing
}

// holds is called if nothing is sent for the resource e, which may be nil: the Envoy has the version of e, or has
// rejected it. If the Envoy has this version, holds records e as the form that the Envoy accepted. The record of a
// listener is needed when listeners change their addresses (see moves). The record of a route table or filter is
// needed to find bad parts in it. holds does nothing for other types.
func (p *Plan) holds(l *ledger, e *Entry) {
	if e == nil {
		return
	}
	has := l.held.get(e.Name)
	switch {
	case has == nil || has.Version != e.Version:
	case l.typ == xds.ListenerType:
		p.moves.hold(e.Name, e)
	case e.closed:
	case l.typ == xds.RouteType || l.typ == xds.FilterType:
		p.tableOf(l.typ, e.Name).accepted = e
	}
}

// learn records the answer to r, if r has route tables or filters. nack is true for a rejection, and words is
// Envoy's error. After an ACK, learn stores the accepted form. If an Envoy rejected a route table that was alone in
// r, learn starts or continues the search for its bad parts, and marks the table to be sent again in another form.
// If a search already found no bad part in this version of the table, learn starts no other search. The cost does
// not depend on the size of a table.
func (ts *tables) learn(l *ledger, r *Response, nack bool, words string) {
	if l.typ == xds.FilterType {
		ts.learnFilter(l, r, nack, words)
	}
	if l.typ != xds.RouteType {
		return
	}
	if !nack {
		for _, e := range r.Set {
			ts.accepts(l, e, r.Probe)
		}
		return
	}
	if !ts.searches || r.Names() != 1 || len(r.Set) != 1 {
		return
	}
	e := r.Set[0]
	if e.closed {
		return
	}
	t := ts.tableOf(l.typ, e.Name)
	switch {
	case ts.target.Entry(l.typ, e.Name) == nil, t.unsearchable == e.Version, t.search != nil && t.ready != e, t.search == nil && r.Probe:
		return
	case t.hinting, t.pausing:
		t.hinting, t.pausing = false, false
	case t.search != nil:
		t.search.answer(words)
	default:
		t.search = &search{of: e, words: words}
		t.hinting = t.accepted == nil && !t.hadHints
	}
	t.ready = nil
	l.rejected.remove(e.Name)
	l.alone[e.Name] = struct{}{}
	l.look(e.Name)
}

// accepts records that the Envoy accepted the route table e. If a search for bad parts of the table is running, it
// ends, unless e was sent while the search paused (see pause). If probe is true, e is a test table of a search,
// which every Envoy rejects (xds.Probe). A client that accepts it is no Envoy, so no new search begins on this
// stream.
func (ts *tables) accepts(l *ledger, e *Entry, probe bool) {
	if e.closed {
		return
	}
	t := ts.tableOf(l.typ, e.Name)
	t.accepted = e
	ts.searches = ts.searches && !probe
	if t.search != nil {
		if t.ready = nil; !t.pausing {
			t.search = nil
		}
		t.hinting, t.pausing = false, false
		l.look(e.Name)
	}
}

// Prepare makes the route tables that wait for it (see Waiting) ready to be sent: it decides, for each table, which
// parts are left out for this Envoy. The returned sequence does this work in steps. The function hints returns the
// parts of a table that other Envoys rejected. Prepare calls hints only within Step.Book.
func (ts *tables) Prepare(hints func(table string) map[xds.Part]xds.Fault) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		for _, name := range ts.waiting {
			if !ts.prepare(yield, name, hints) {
				return
			}
		}
		ts.waiting = nil
	}
}

// prepare does the work of Prepare for one route table: it stores in tableState.ready the form of the table that is
// sent next. The function hints returns the parts of the table that other Envoys rejected. prepare returns false if
// yield returned false.
func (ts *tables) prepare(yield func(Step) bool, name string, hints func(string) map[xds.Part]xds.Fault) bool {
	t := ts.states[name]
	var target *Entry
	var hinted map[xds.Part]xds.Fault
	goesOn := yield(Step{Book: func() {
		target = ts.entry(xds.RouteType, name)
		if t != nil && t.hinting {
			hinted = hints(name)
		}
	}})
	if !goesOn || t == nil || target == nil {
		return goesOn
	}
	if target.Name != name {
		ts.prepareEarlier(name, target)
		return true
	}
	if t.hinting {
		t.hadHints = true
		t.ready = t.search.of.without(hinted)
		if t.hinting = t.ready != t.search.of; t.hinting {
			return true
		}
	}
	if t.search == nil || t.search.over {
		return ts.conclude(yield, name) && ts.amend(yield, name, target)
	}
	if t.search.pauses(target) {
		return ts.pause(yield, name, target)
	}
	if t.search.suspects == nil {
		t.search.begin(t.search.of.suspects(t.accepted))
	}
	t.ready = t.search.probe(t.search.window())
	return true
}

// amend decides which form of a route table is sent to the Envoy, and stores the form in tableState.ready. The
// parameter target is the complete table. The form lacks the parts that the Envoy rejects, and those for which the
// Envoy is too old. If a rejected part has changed in target, it no longer counts as rejected. amend returns false if
// yield returned false.
func (ts *tables) amend(yield func(Step) bool, name string, target *Entry) bool {
	form := target
	if ts.older {
		form = target.formFor(ts.release)
	}
	if !ts.note(yield, ts.lacking(name, target, form)) {
		return false
	}
	t := ts.states[name]
	faults := make(map[xds.Part]xds.Fault, len(t.rejected))
	for part, rejected := range t.rejected {
		faults[part] = rejected.Fault
	}
	t.ready, t.readyFor = form.without(faults), target
	gone := slices.DeleteFunc(slices.Collect(maps.Keys(t.rejected)), func(part xds.Part) bool { return t.ready.leftOut[part] })
	for some := range slices.Chunk(gone, stepNames) {
		goesOn := yield(Step{Book: func() {
			for _, part := range some {
				ts.clearRejected(name, part)
			}
		}})
		if !goesOn {
			return false
		}
	}
	return true
}

// conclude ends the search for bad parts of a route table. It does nothing if there is no search. If the search
// found bad parts, conclude records these parts as rejected. If it found none, conclude records the whole table as
// rejected. It returns false if yield returned false.
func (ts *tables) conclude(yield func(Step) bool, name string) bool {
	t := ts.states[name]
	if t.search == nil {
		return true
	}
	bad := t.badParts(name)
	if !ts.note(yield, bad) {
		return false
	}
	return yield(Step{Book: func() {
		search := t.search
		t.search = nil
		ts.findings++
		if len(bad) == 0 {
			t.unsearchable = search.of.Version
			ts.ledgers[xds.RouteType].rejected.set(name, rejection{version: t.unsearchable, words: search.words, times: 1})
		}
	}})
}

// note records the given parts as rejected, in steps. It returns false if yield returned false.
func (ts *tables) note(yield func(Step) bool, parts []*RejectedPart) bool {
	for some := range slices.Chunk(parts, stepNames) {
		goesOn := yield(Step{Book: func() {
			for _, part := range some {
				ts.noteRejected(part)
			}
		}})
		if !goesOn {
			return false
		}
	}
	return true
}

// badParts returns the parts of a route table that the search found to be bad, in order. The parameter name is the
// name of the table. At first, a bad part is replaced by a part with the same match that answers 500. If the Envoy
// rejects this replacement, too, the match is bad: the result then has Fault.Match, and the part is left out.
func (t *tableState) badParts(name string) []*RejectedPart {
	var parts []*RejectedPart
	for _, f := range t.search.found {
		part := &RejectedPart{Table: name, Part: f.Part, Fault: xds.Fault{Sum: f.Sum()}, in: t, Words: f.words}
		if before := t.rejected[f.Part]; before != nil && t.search.of.leftOut[f.Part] {
			if before.Match {
				continue // it is left out already
			}
			part.Fault, part.Words, part.Lack, part.quarantined = xds.Fault{Sum: before.Sum, Match: true}, before.Words, before.Lack, before.Lack != nil
		}
		parts = append(parts, part)
	}
	return parts
}
