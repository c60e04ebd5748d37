package server

import (
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// Envoy rejects a table for one bad route, and seldom says which (docs/design/envoy.md#nacks). A
// table that is rejected would stay as it is for everybody in it. So each stream finds the bad
// parts by itself (search.go), and is sent the table without them: docs/design/rejections.md.
//
// What takes time in the size of a table is done by the stream's own goroutine without the lock
// (session.prepare). Under the lock it notes which tables wait for that.

// tableState is what a stream knows of one of its tables. The stream's own goroutine alone
// changes it; what others read, accepted, refused and unblamed, under the lock.
type tableState struct {
	accepted *entry // nil when it is not known, as after a reconnect
	refused  map[xds.Part]*refusedPart
	unblamed int     // those that are not in quarantine
	search   *search // nil when there is nothing to be found
	// ready is what is sent in place of the target readyFor: a probe, or the table without its
	// bad parts. It is nil until prepare has made it.
	ready, readyFor *entry
	// hopeless is the version in which no bad part could be found.
	hopeless string
	// hinting reports that the search waits: the table without what other Envoys rejected is tried
	// first. It goes to an Envoy that has no table yet and rejected its first one, once, so that
	// it serves while its own bad parts are searched among those.
	hinting, hadHints bool
}

// refusedPart is a part that this stream's Envoy rejects in this form.
type refusedPart struct {
	xds.Fault
	in    *tableState
	words string
	// key is what the server remembers it by, zero when it is the Envoy's own matter;
	// blamed reports that it is in quarantine: it counts as the object's fault.
	key    translate.RejectedPart
	blamed bool
}

// tableOf returns what is known of a table, new when nothing is.
func (p *plan) tableOf(name string) *tableState {
	t := p.tables[name]
	if t == nil {
		t = &tableState{refused: map[xds.Part]*refusedPart{}}
		p.tables[name] = t
	}
	return t
}

// shape returns the form in which the target e goes to this stream's Envoy; wait reports that
// prepare has to make it first.
func (p *plan) shape(typ, name string, e *entry) (shaped *entry, wait bool) {
	t := p.tables[name]
	switch {
	case typ != xds.RouteType || t == nil:
		return e, false
	case e == nil:
		p.forgetTable(name)
		return nil, false
	case t.search == nil && len(t.refused) == 0:
		return e, false
	case t.ready != nil && (t.search != nil || t.readyFor == e):
		return t.ready, false
	}
	p.waiting = append(p.waiting, name)
	return nil, true
}

// forgetTable forgets what was learned of a table.
func (p *plan) forgetTable(name string) {
	if t := p.tables[name]; t != nil {
		for part := range t.refused {
			p.acquit(name, part)
		}
		delete(p.tables, name)
	}
}

// acquit forgets a part that was rejected: it changed.
func (p *plan) acquit(name string, part xds.Part) {
	t := p.tables[name]
	was := t.refused[part]
	t.unblamed -= int(1 - number(was.blamed))
	p.acquitted = append(p.acquitted, was)
	if delete(t.refused, part); len(t.refused) == 0 {
		delete(p.blamed, name)
	}
}

// probes reports whether what is sent of a table is a probe.
func (p *plan) probes(typ, name string) bool {
	t := p.tables[name]
	return typ == xds.RouteType && t != nil && t.search != nil && !t.hinting
}

// holds notes what the Envoy holds of a table, when it said so itself.
func (p *plan) holds(l *ledger, e *entry) {
	if e == nil || l.typ != xds.RouteType {
		return
	}
	if held, _ := l.held.get(e.Name); held == e.Version {
		p.tableOf(e.Name).accepted = e
	}
}

// learn takes an answer to a table into account. It costs the same whatever the table has.
func (p *plan) learn(l *ledger, r *response, nack bool, words string) {
	if l.typ != xds.RouteType {
		return
	}
	if !nack {
		for _, e := range r.set {
			p.accepts(l, e, r.probe)
		}
		return
	}
	if !p.searches || r.names() != 1 || len(r.set) != 1 {
		return
	}
	e := r.set[0]
	t := p.tableOf(e.Name)
	switch {
	case p.scope.entry(l.typ, e.Name) == nil, t.hopeless == e.Version, t.search != nil && t.ready != e, t.search == nil && r.probe:
		return
	case t.hinting:
		t.hinting = false
	case t.search != nil:
		t.search.answer(words)
	default:
		t.search = &search{of: e, words: words}
		t.hinting = t.accepted == nil && !t.hadHints && p.hints
	}
	t.ready = nil
	l.rejected.remove(e.Name)
	l.alone[e.Name] = struct{}{}
	l.due.push(e.Name)
}

// accepts notes that the Envoy took a table. A client that takes a probe is no Envoy: nothing is
// searched for it any more.
func (p *plan) accepts(l *ledger, e *entry, probe bool) {
	t := p.tableOf(e.Name)
	t.accepted = e
	p.searches = p.searches && !probe
	if t.search != nil {
		t.search, t.hinting, t.ready = nil, false, nil
		l.due.push(e.Name)
	}
}

// refusedParts counts the rejected parts of what is to be served now that are not in quarantine.
func (p *plan) refusedParts() (count int) {
	for name := range p.blamed {
		count += p.tables[name].unblamed
	}
	return count
}

// prepare makes what the stream is sent next of the tables that wait for it.
func (s session) prepare() {
	for _, name := range s.stream.waiting {
		s.prepareTable(name)
	}
	s.stream.waiting = nil
}

func (s session) prepareTable(name string) {
	t := s.stream.tables[name]
	var target *entry
	var hints map[xds.Part]xds.Fault
	s.locked(func() {
		target = s.stream.scope.entry(xds.RouteType, name)
		if t != nil && t.hinting {
			hints = s.quarantine.hints(name)
		}
	})
	if t == nil || target == nil {
		return
	}
	if t.hinting {
		t.hadHints = true
		t.ready = t.search.of.without(hints)
		if t.hinting = t.ready != t.search.of; t.hinting {
			return
		}
	}
	if t.search == nil || t.search.over {
		s.conclude(name)
		s.amend(name, target)
		return
	}
	if t.search.suspects == nil {
		t.search.begin(t.search.of.suspects(t.accepted))
	}
	t.ready = t.search.probe(t.search.window())
}

// amend makes the table without what this Envoy rejects of it. What is not in the target any more,
// in this form, is forgotten.
func (s session) amend(name string, target *entry) {
	st := s.stream
	t := st.tables[name]
	faults := make(map[xds.Part]xds.Fault, len(t.refused))
	for part, refused := range t.refused {
		faults[part] = refused.Fault
	}
	t.ready, t.readyFor = target.without(faults), target
	var gone []xds.Part
	for part := range t.refused {
		if !t.ready.struck[part] {
			gone = append(gone, part)
		}
	}
	s.inParts(gone, func(part xds.Part) { st.acquit(name, part) })
	s.locked(func() { s.quarantine.acquit(st) })
}

// conclude books what a search found, if there was one. Where it found nothing, the table stays
// rejected.
func (s session) conclude(name string) {
	st := s.stream
	t := st.tables[name]
	search := t.search
	if search == nil {
		return
	}
	convicted := map[xds.Part]*refusedPart{}
	var order []xds.Part
	for _, f := range search.found {
		part := &refusedPart{Fault: xds.Fault{Sum: f.Sum()}, in: t, words: f.words}
		if before := t.refused[f.Part]; before != nil && search.of.struck[f.Part] {
			if before.Match {
				continue // it is left out
			}
			part.Fault, part.words = xds.Fault{Sum: before.Sum, Match: true}, before.words
		}
		convicted[f.Part] = part
		order = append(order, f.Part)
	}
	s.inParts(order, func(at xds.Part) {
		if t.refused[at] != nil {
			st.acquit(name, at)
		}
		part := convicted[at]
		t.refused[at] = part
		t.unblamed++
		st.blamed[name] = struct{}{}
		s.quarantine.accuse(st, name, at, part)
	})
	s.locked(func() {
		t.search = nil
		s.quarantine.acquit(st)
		st.convictions++
		if len(order) == 0 {
			t.hopeless = search.of.Version
			st.ledgers[xds.RouteType].rejected.set(name, rejection{version: t.hopeless, words: search.words, times: 1})
		}
		s.quarantine.poke()
	})
	s.logFindings(name, order, convicted)
}
