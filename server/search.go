package server

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// Envoy refuses a table for one bad route, and seldom says which (docs/design/envoy.md#nacks). A table that is refused would stay as it is for everybody in it.
// So each stream finds the bad part by itself, and is sent the table without it.
//
// What changed since the table that the Envoy accepted is suspected; among
// several, probes halve the suspects (see table.probe). A part is convicted only
// when the table up to it is refused for a reason of its own and the table
// before it is not. Probes never change what the Envoy serves.
//
// The search works on the linear form of a table; what is served in the end is compiled again.

// tableState is what a stream knows of one of its tables.
type tableState struct {
	accepted *entry // nil when it is not known, as after a reconnect
	refused  map[unit]*refusedPart
	search   *search // nil when there is nothing to be found
	// amended is the table without its refused parts, of the target amendedOf.
	amended   *amended
	amendedOf *entry
	dropped   []*refusedPart // by amend
	// hopeless is the version in which no bad part could be found.
	hopeless string
	// interim is the table without what other Envoys rejected. It goes to an Envoy that has
	// no table yet and rejected its first one: once, so that it serves while its own bad
	// parts are searched. They are searched among what the interim one lacks.
	interim    *entry
	hadInterim bool
}

// refusedPart is a part that this stream's Envoy refused in this form.
type refusedPart struct {
	sum [sha256.Size]byte
	// match tells that it is refused also when it answers 500: its match is at fault.
	match bool
	words string
	// key is what the server remembers it by, zero when it is the Envoy's own matter;
	// blamed tells that it is in quarantine: it counts as the object's fault.
	key    translate.RefusedPart
	blamed bool
}

// covers tells whether the bytes are those that were refused.
func (r *refusedPart) covers(body []byte) bool { return r != nil && r.sum == sha256.Sum256(body) }

// search looks for the first bad part of a table that was refused.
type search struct {
	*suspects
	// The bad part is after units[low], and is units[high] or before; low is -1
	// for what comes before the first. clean and faulty tell whether the two
	// were tried.
	low, high     int
	clean, faulty bool
	words         string // that units[high] was refused with
	probe         *entry // that is awaited
	at            int    // index of the probe
}

// conviction is a part that was found.
type conviction struct {
	table string
	unit  unit
	part  *refusedPart
	// replaces is what was known of it before, nil for nothing.
	replaces *refusedPart
}

func newSearch(among *suspects, words string) *search {
	s := &search{suspects: among, low: -1, high: len(among.units) - 1, words: words}
	s.next()
	return s
}

// next prepares the next probe; false when there is nothing more to try.
func (s *search) next() bool {
	switch {
	case s.low+1 < s.high:
		s.at = s.low + (s.high-s.low)/2
	case !s.faulty:
		s.at = s.high
	case !s.clean:
		s.at = s.low
	default:
		return false
	}
	s.probe = s.upTo(s.at)
	return true
}

// answer takes Envoy's words about a probe; false when the suspects are all good.
func (s *search) answer(words string) bool {
	if strings.Contains(words, probeMark) { // no fault up to there
		s.low, s.clean = s.at, true
		return s.at < s.high
	}
	s.words = words
	s.high, s.faulty = s.at, true
	return s.at >= 0
}

// tableOf gives what is known of a table, new when nothing is.
func (p *plan) tableOf(name string) *tableState {
	t := p.tables[name]
	if t == nil {
		t = &tableState{refused: map[unit]*refusedPart{}}
		p.tables[name] = t
	}
	return t
}

// shape gives the form in which the target e goes to this stream's Envoy.
func (p *plan) shape(typ, name string, e *entry) *entry {
	if typ != xds.RouteType || p.tables[name] == nil {
		return e
	}
	t := p.tables[name]
	switch {
	case e == nil:
		p.forgetTable(name)
		return nil
	case t.interim != nil:
		return t.interim
	case t.search != nil:
		return t.search.probe
	case len(t.refused) == 0:
		return e
	}
	amended := t.amend(e)
	p.acquitted, t.dropped = append(p.acquitted, t.dropped...), nil
	return amended
}

// amend gives the table without what this Envoy refused of it. What is not in the
// target any more, in this form, is forgotten.
func (t *tableState) amend(e *entry) *entry {
	if t.amendedOf != e {
		t.amended, t.amendedOf = e.without(t.refused), e
		for u, part := range t.refused {
			if !t.amended.struck[u] {
				t.dropped = append(t.dropped, part)
				delete(t.refused, u)
			}
		}
	}
	return t.amended.entry
}

// forgetTable forgets what was learned of a table.
func (p *plan) forgetTable(name string) {
	if t := p.tables[name]; t != nil {
		p.acquitted = slices.AppendSeq(p.acquitted, maps.Values(t.refused))
		delete(p.tables, name)
	}
}

// probes tells whether what is sent of a table is a probe.
func (p *plan) probes(typ, name string) bool {
	t := p.tables[name]
	return typ == xds.RouteType && t != nil && t.search != nil
}

// holds notes what the Envoy holds of a table, when it told so itself.
func (p *plan) holds(l *ledger, e *entry) {
	if e == nil || l.typ != xds.RouteType {
		return
	}
	if held, _ := l.held.get(e.Name); held == e.Version {
		p.tableOf(e.Name).accepted = e
	}
}

// learn takes an answer to a table into account. It gives what was found.
func (p *plan) learn(l *ledger, r *response, nack bool, words string) *conviction {
	if l.typ != xds.RouteType {
		return nil
	}
	if !nack {
		for _, e := range r.set {
			t := p.tableOf(e.Name)
			t.accepted = e
			if e == t.interim {
				t.interim = nil
				l.due.push(e.Name)
			}
		}
		return nil
	}
	if !p.searches || r.names() != 1 || len(r.set) != 1 {
		return nil
	}
	e := r.set[0]
	if p.scope.entry(l.typ, e.Name) == nil {
		return nil
	}
	var found *conviction
	t := p.tableOf(e.Name)
	interim := t.interim
	switch {
	case interim != nil:
		t.interim = nil
	case t.search != nil && t.search.probe.Version == e.Version:
		found = t.narrow(words)
	case t.search == nil && t.hopeless != e.Version && p.standIn(t, e):
	case t.search == nil && t.hopeless != e.Version:
		t.begin(e, words)
	}
	if found != nil {
		p.convictions++
		if p.blamed == nil {
			p.blamed = map[string]struct{}{}
		}
		p.blamed[e.Name] = struct{}{}
	}
	p.resend(l, e.Name, found != nil || t.interim != interim)
	return found
}

// standIn prepares the interim table; false when there is none.
func (p *plan) standIn(t *tableState, e *entry) bool {
	if t.accepted != nil || t.hadInterim || p.hints == nil {
		return false
	}
	t.hadInterim = true
	without := e.without(p.hints(e.Name)).entry
	if without == e {
		return false
	}
	t.interim = without
	return true
}

// resend has a table sent that is searched or was amended. One in which nothing can be found
// stays rejected.
func (p *plan) resend(l *ledger, name string, another bool) {
	t := p.tables[name]
	if t.search == nil && !another {
		if r := l.rejected.of[name]; r.version != t.hopeless {
			l.rejected.set(name, rejection{version: t.hopeless, words: r.words, times: 1})
		}
		return
	}
	l.rejected.remove(name)
	l.alone[name] = struct{}{}
	l.due.push(name)
}

// begin starts the search in a table that was refused.
func (t *tableState) begin(e *entry, words string) {
	among := e.suspects(t.accepted)
	if len(among.units) == 0 {
		t.hopeless = e.Version
		return
	}
	t.search = newSearch(among, words)
}

// narrow goes on with the search after a probe was answered.
func (t *tableState) narrow(words string) *conviction {
	s := t.search
	switch answered := s.answer(words); {
	case answered && s.next():
		return nil
	case answered:
		t.search = nil
		return t.convict(s)
	case s.all:
		t.search = nil
		t.hopeless = s.of.Version
		return nil
	}
	t.search = newSearch(s.of.suspects(nil), s.words)
	return nil
}

// convict books the part that was found. The second time it is its match.
func (t *tableState) convict(s *search) *conviction {
	u := s.units[s.high]
	part := &refusedPart{sum: sha256.Sum256(s.table.find(u)), words: s.words}
	if before := t.refused[u]; before != nil {
		if before.match {
			t.hopeless = s.of.Version
			return nil
		}
		part = &refusedPart{sum: before.sum, match: true, words: before.words}
	}
	found := &conviction{table: s.table.name, unit: u, part: part, replaces: t.refused[u]}
	t.refused[u] = part
	t.amendedOf = nil
	return found
}

// refusedParts counts the refused parts of what is to be served now that are not in
// quarantine.
func (p *plan) refusedParts() int {
	count := 0
	for name := range p.blamed {
		if t := p.tables[name]; t != nil && len(t.refused) > 0 {
			count += t.unblamed()
		} else {
			delete(p.blamed, name)
		}
	}
	return count
}

// unblamed counts the refused parts that are not in quarantine.
func (t *tableState) unblamed() (count int) {
	for _, part := range t.refused {
		count += int(1 - number(part.blamed))
	}
	return count
}

// ownMatter tells from Envoy's words that they are of this Envoy and not of the
// rule: it was built without something, or is set to a limit. Another Envoy may
// take the rule.
func (s *Server) ownMatter(words string) bool {
	return !s.options.blameRules && slices.ContainsFunc([]string{
		"Didn't find a registered implementation", "could not find @type", "Unable to parse JSON", "unknown type",
		"max program size", "has unknown fields",
	}, func(part string) bool { return strings.Contains(words, part) })
}
