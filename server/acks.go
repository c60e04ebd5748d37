package server

import (
	"maps"
	"slices"
	"strings"
	"time"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// ledger is what one stream asked for, was sent, accepted and rejected of one
// type. A name is in at most one response at a time; what changes meanwhile is
// looked up again when the answer has come, so that the newest wins.
type ledger struct {
	typ      string
	wildcard bool
	waits    bool                 // for a first response, be it an empty one
	names    map[string]struct{}  // asked for by name
	held     map[string]string    // name → version that Envoy accepted last
	sent     map[string]string    // name → nonce of the response that is unanswered
	flight   map[string]*response // nonce → unanswered response
	rejected map[string]rejection
	alone    map[string]struct{} // to be sent alone, to find who was rejected
	force    map[string]struct{} // to be sent although the version is held
	due      queue               // to be looked at, not in flight
	again    map[string]struct{} // to be looked at after the answer
	gone     queue               // held, and to be removed when nothing can use it
}

// rejection is a version that Envoy refused, and why, in Envoy's words.
type rejection struct {
	version string
	words   string
	times   int       // how often in a row
	at      time.Time // to be sent again, zero for never or not planned yet: see plan.rebind
	again   bool      // that time has come
}

func newLedger(typ string) *ledger {
	return &ledger{
		typ: typ, names: map[string]struct{}{}, held: map[string]string{}, sent: map[string]string{},
		flight: map[string]*response{}, rejected: map[string]rejection{}, alone: map[string]struct{}{},
		force: map[string]struct{}{}, again: map[string]struct{}{},
	}
}

func (l *ledger) wants(name string) bool {
	_, ok := l.names[name]
	return ok || l.wildcard
}

// mark asks for name to be looked at: now, or after the answer that is awaited.
func (l *ledger) mark(name string) {
	if !l.wants(name) {
		return
	}
	if _, busy := l.sent[name]; busy {
		l.again[name] = struct{}{}
		return
	}
	l.due.push(name)
}

// subscribe adds names. A name asked for again is sent again: the client may
// have forgotten it (xDS protocol, "Subscribing to Resources"); those in known
// it has told to hold.
func (l *ledger) subscribe(names []string, known map[string]string) {
	for _, name := range names {
		if name == wildcard {
			l.wildcard = true
			continue
		}
		l.names[name] = struct{}{}
		if _, ok := known[name]; !ok {
			l.force[name] = struct{}{}
		}
		l.mark(name)
	}
}

// resume takes over what the Envoy holds from a stream before.
func (l *ledger) resume(versions map[string]string) {
	for name, version := range versions {
		if l.wants(name) {
			l.held[name] = version
			l.mark(name)
		}
	}
}

// unsubscribe forgets what the client forgets.
func (l *ledger) unsubscribe(names []string) {
	for _, name := range names {
		if name == wildcard {
			l.wildcard = false
			continue
		}
		delete(l.names, name)
	}
	for _, name := range l.known(names) {
		if !l.wants(name) {
			l.forget(name)
		}
	}
}

// known gives the names that an unsubscription of names can touch.
func (l *ledger) known(names []string) []string {
	if !slices.Contains(names, wildcard) {
		return names
	}
	all := slices.Collect(maps.Keys(l.held))
	all = slices.AppendSeq(all, maps.Keys(l.sent))
	return slices.AppendSeq(all, maps.Keys(l.rejected))
}

func (l *ledger) forget(name string) {
	delete(l.held, name)
	delete(l.sent, name)
	delete(l.rejected, name)
	delete(l.alone, name)
	delete(l.force, name)
	delete(l.again, name)
	l.due.drop(name)
	l.gone.drop(name)
}

// book notes that r is on its way.
func (l *ledger) book(r *response) {
	l.flight[r.nonce] = r
	l.waits = false
	for _, e := range r.set {
		l.sent[e.Name] = r.nonce
		delete(l.force, e.Name)
	}
	for _, name := range r.removed {
		l.sent[name] = r.nonce
	}
}

// accept books an ACK.
func (l *ledger) accept(nonce string) {
	r := l.flight[nonce]
	delete(l.flight, nonce)
	for _, e := range r.set {
		if l.answered(e.Name, nonce) {
			l.held[e.Name] = e.Version
			delete(l.rejected, e.Name)
			delete(l.alone, e.Name)
		}
	}
	for _, name := range r.removed {
		if l.answered(name, nonce) {
			delete(l.held, name)
			delete(l.rejected, name)
		}
	}
}

// reject books a NACK. A response that carried one resource tells which is bad.
// Of several, Envoy may have taken any part: those that its words name are bad,
// the others, or all when it names none, are sent again one by one
// (reliability notes, finding 3). A version that was rejected by itself is not
// sent again, but for a listener whose bind failed (see plan.rebind).
func (l *ledger) reject(nonce, words string) {
	r := l.flight[nonce]
	delete(l.flight, nonce)
	single := r.names() == 1
	for _, e := range r.set {
		if !l.answered(e.Name, nonce) {
			continue
		}
		if single || blames(words, e.Name) {
			times := 1
			if before := l.rejected[e.Name]; before.version == e.Version {
				times += before.times
			}
			l.rejected[e.Name] = rejection{version: e.Version, words: words, times: times}
			delete(l.alone, e.Name)
			continue
		}
		l.alone[e.Name] = struct{}{}
		l.due.push(e.Name)
	}
	for _, name := range r.removed {
		if !l.answered(name, nonce) {
			continue
		}
		if single { // nothing to be had by asking again
			delete(l.held, name)
			continue
		}
		l.alone[name] = struct{}{}
		l.due.push(name)
	}
}

// answered ends the wait for name's answer; false when it was forgotten, or
// sent anew, since.
func (l *ledger) answered(name, nonce string) bool {
	if l.sent[name] != nonce {
		return false
	}
	delete(l.sent, name)
	if _, ok := l.again[name]; ok {
		delete(l.again, name)
		l.due.push(name)
	}
	return true
}

// blames tells whether Envoy's words name a cluster or listener as bad:
// "Error adding/updating cluster(s) a: why, b: why" (Envoy notes, section 8).
func blames(words, name string) bool {
	if !strings.HasPrefix(words, "Error adding/updating ") {
		return false
	}
	for _, before := range []string{"(s) ", ", ", "\n"} {
		if strings.Contains(words, before+name+": ") {
			return true
		}
	}
	return false
}

// idle tells that nothing is to be sent or awaited but removals.
func (l *ledger) idle() bool { return l.due.empty() && len(l.sent) == 0 }

// stale tells that Envoy serves an older form of something it rejected.
func (l *ledger) stale() bool {
	for name := range l.rejected {
		if _, ok := l.held[name]; ok {
			return true
		}
	}
	return false
}

// Envoy prints the whole message before a broken field rule; what follows this
// mark says which rule it was.
const constraintMark = "Proto constraint validation failed"

// maxWords bounds what is kept of Envoy's words, in bytes.
const maxWords = 1000

// plainWords shortens Envoy's words to what a person needs, and keeps the
// content of secrets out of log and pages.
func plainWords(typ, words string) string {
	if at := strings.LastIndex(words, constraintMark); at >= 0 {
		words = words[at:]
	} else if typ == resourcev3.SecretType && (len(words) > 200 || strings.Contains(words, "-----BEGIN")) {
		return redacted
	}
	if len(words) > maxWords {
		words = words[:maxWords] + "…"
	}
	return strings.ToValidUTF8(strings.TrimSpace(words), "?")
}

// queue is an ordered set of names.
type queue struct {
	names []string
	in    map[string]struct{}
}

func (q *queue) push(name string) {
	if _, ok := q.in[name]; ok {
		return
	}
	if q.in == nil {
		q.in = map[string]struct{}{}
	}
	q.in[name] = struct{}{}
	q.names = append(q.names, name)
}

// peek gives the first name; ok is false when there is none.
func (q *queue) peek() (name string, ok bool) {
	if q.empty() {
		return "", false
	}
	return q.names[0], true
}

// pop takes the first name out.
func (q *queue) pop() {
	delete(q.in, q.names[0])
	if q.names = q.names[1:]; q.empty() {
		q.names = nil
	}
}

func (q *queue) drop(name string) {
	if _, ok := q.in[name]; !ok {
		return
	}
	delete(q.in, name)
	at := slices.Index(q.names, name)
	q.names = slices.Delete(q.names, at, at+1)
}

func (q *queue) empty() bool { return len(q.in) == 0 }
