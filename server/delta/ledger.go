package delta

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// ledger is what one stream asked for, was sent, accepted and rejected of one type. A name is in at
// most one pending response. If it changes meanwhile, it is compared again after the answer, so
// that the newest version is sent.
type ledger struct {
	typ      string
	wildcard bool
	waits    bool                 // for a first response, be it an empty one
	names    overlay              // asked for by name
	held     overlay              // name → version that Envoy accepted last
	flight   map[string]*Response // nonce → unanswered response; maxFlight at most
	awaited  int                  // names in flight
	rejected rejections
	alone    map[string]struct{} // to be sent alone, to find who was rejected
	force    map[string]struct{} // to be sent although the version is held
	due      queue               // to be looked at, not in flight
	again    map[string]struct{} // to be looked at after the answer
	gone     queue               // held, and to be removed when nothing can use it
	// unfiltered are due tables that wait for the filter that they need.
	unfiltered map[string]struct{}
	unmoved    map[string]time.Time // due listeners that wait until a time, or with zero for another's answer
	// unknown are names that the client asked for, or said that it holds, and that the
	// target did not have.
	unknown   map[string]struct{}
	strangers int // their weight
}

// maxFlight bounds the responses of a type that a stream has not answered. An Envoy
// answers each; to find the response of a name, each of them is asked.
const maxFlight = 64

// rejection is a version that Envoy rejected, with Envoy's message.
type rejection struct {
	version string
	words   string
	times   int       // how often in a row
	at      time.Time // to be sent again, zero for never or not planned yet: see moves.rebind
	again   bool      // that time has come
}

// rejections are what a stream rejected, by name.
type rejections struct {
	of    map[string]rejection
	edits uint64 // changes of the set, so that nobody has to compare it
}

func (r *rejections) set(name string, now rejection) {
	r.of[name] = now
	r.edits++
}

func (r *rejections) remove(name string) {
	if _, ok := r.of[name]; ok {
		delete(r.of, name)
		r.edits++
	}
}

func newLedger(typ string) *ledger {
	return &ledger{
		typ: typ, names: overlay{bare: true}, flight: map[string]*Response{}, rejected: rejections{of: map[string]rejection{}},
		alone: map[string]struct{}{}, force: map[string]struct{}{}, again: map[string]struct{}{}, unknown: map[string]struct{}{},
		unfiltered: map[string]struct{}{}, unmoved: map[string]time.Time{},
	}
}

func (l *ledger) wants(name string) bool { return l.wildcard || l.names.has(name) }

// inFlight returns the unanswered response that contains name, nil if there is none.
func (l *ledger) inFlight(name string) *Response {
	for _, r := range l.flight {
		if r.holds(name) {
			return r
		}
	}
	return nil
}

// mark requests a comparison of name: now, or after the pending answer.
func (l *ledger) mark(name string) {
	switch {
	case !l.wants(name):
	case l.inFlight(name) != nil:
		l.again[name] = struct{}{}
	default:
		l.due.push(name)
	}
}

// markAll is mark for many names. The caller must not change the list.
func (l *ledger) markAll(names []string) {
	if len(names) >= bulk {
		l.due.share(names)
		return
	}
	for _, name := range names {
		l.mark(name)
	}
}

// subscribe adds names. A name that is asked for again is sent again, because the client may have
// forgotten it (xDS protocol, "Subscribing to Resources"). The client has the names in known;
// resume marks those of them that must be compared.
func (l *ledger) subscribe(names []string, known map[string]string, first bool) {
	asked := make([]string, 0, len(names))
	for _, name := range names {
		l.names.set(name, "")
		_, told := known[name]
		if !told && (l.held.has(name) || l.inFlight(name) != nil) {
			l.force[name] = struct{}{}
		}
		if !told || !first {
			asked = append(asked, name)
		}
	}
	l.markAll(asked)
}

// resume notes what the Envoy has from an earlier stream. The names are sorted. It compares equal
// versions only if Plan.holds needs them.
func (l *ledger) resume(names []string, versions map[string]string, t *Target) {
	var same []*Entry
	for _, name := range names {
		if !l.wants(name) {
			continue
		}
		e := t.Entry(l.typ, name)
		if e == nil {
			l.addUnknown(name)
		}
		if e != nil && e.Version == versions[name] {
			same = append(same, e)
			if l.typ != xds.RouteType && l.typ != xds.FilterType && l.typ != xds.ListenerType {
				continue // others have nothing to learn from it
			}
		} else {
			l.held.set(name, versions[name])
		}
		l.mark(name)
	}
	l.held.take(same)
}

// markWanted marks all names of the target whose version the stream does not have.
func (l *ledger) markWanted(t *Target) {
	all := t.call(l.typ)
	wanted := all.names
	if l.held.size > 0 {
		wanted = slices.DeleteFunc(slices.Clone(all.names), func(name string) bool {
			version, ok := l.held.get(name)
			return ok && version == all.versions[name]
		})
	}
	l.markAll(wanted)
	l.markAll(slices.Sorted(maps.Keys(all.since)))
}

// unsubscribe removes the names that the client unsubscribes from.
func (l *ledger) unsubscribe(names []string) {
	for _, name := range names {
		l.names.remove(name)
		l.forgetUnwanted(name)
	}
}

// forgetUnwanted removes a name that the stream does not ask for.
func (l *ledger) forgetUnwanted(name string) {
	if !l.wants(name) {
		l.forget(name)
	}
}

// touched yields the names that the end of a wildcard subscription can affect, some twice.
func (l *ledger) touched(yield func(string) bool) {
	for name := range l.held.all {
		if !yield(name) {
			return
		}
	}
	for _, r := range l.flight {
		for name := range r.all {
			if !yield(name) {
				return
			}
		}
	}
}

func (l *ledger) forget(name string) {
	if r := l.inFlight(name); r != nil {
		r.forget(name)
		l.awaited--
	}
	l.held.remove(name)
	l.rejected.remove(name)
	delete(l.alone, name)
	delete(l.force, name)
	delete(l.again, name)
	delete(l.unfiltered, name)
	delete(l.unmoved, name)
	l.dropUnknown(name)
	l.due.drop(name)
	l.gone.drop(name)
}

// book records that r was sent.
func (l *ledger) book(r *Response) {
	sortEntries(r.Set)
	slices.Sort(r.Removed)
	l.flight[r.nonce] = r
	l.awaited += r.Names()
	l.waits = false
	for _, e := range r.Set {
		delete(l.force, e.Name)
	}
}

func sortEntries(all []*Entry) {
	slices.SortFunc(all, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
}

// accept records an ACK.
func (l *ledger) accept(nonce string) {
	r := l.flight[nonce]
	delete(l.flight, nonce)
	taken := r.Set
	if len(r.forgotten) > 0 {
		taken = slices.DeleteFunc(slices.Clone(taken), func(e *Entry) bool { return !r.holds(e.Name) })
	}
	l.held.take(taken)
	for _, e := range taken {
		l.answered(r, e.Name)
		l.rejected.remove(e.Name)
		delete(l.alone, e.Name)
	}
	for _, name := range r.Removed {
		if l.answered(r, name) {
			l.held.remove(name)
			l.rejected.remove(name)
			delete(l.alone, name)
			if !l.names.has(name) {
				l.dropUnknown(name)
			}
		}
	}
}

// reject records a NACK. If the response has one resource, that one is bad. Of several, Envoy may
// have applied any part. Those named in its message are bad. The others, or all if it names none,
// are sent again one by one (docs/design/reliability.md#findings). A version that was rejected
// alone is not sent again, except for a listener whose bind failed (see moves.rebind).
func (l *ledger) reject(nonce, words string) {
	r := l.flight[nonce]
	delete(l.flight, nonce)
	single := r.Names() == 1
	for _, e := range r.Set {
		if !l.answered(r, e.Name) {
			continue
		}
		if single || blames(words, e.Name) {
			times := 1
			if before := l.rejected.of[e.Name]; before.version == e.Version {
				times += before.times
			}
			l.rejected.set(e.Name, rejection{version: e.Version, words: words, times: times})
			delete(l.alone, e.Name)
			continue
		}
		l.alone[e.Name] = struct{}{}
		l.due.push(e.Name)
	}
	for _, name := range r.Removed {
		if !l.answered(r, name) {
			continue
		}
		if single { // nothing to be had by asking again
			l.held.remove(name)
			delete(l.alone, name)
			continue
		}
		l.alone[name] = struct{}{}
		l.due.push(name)
	}
}

// answered ends the wait for Envoy's answer to one name of r, and queues the name if a comparison was requested
// meanwhile. It does nothing and returns false if the client no longer asked for the name after r was sent.
func (l *ledger) answered(r *Response, name string) bool {
	if _, forgotten := r.forgotten[name]; forgotten {
		return false
	}
	l.awaited--
	if _, ok := l.again[name]; ok {
		delete(l.again, name)
		l.due.push(name)
	}
	return true
}

// blames reports whether Envoy's message names a cluster or listener as bad: "Error adding/updating
// cluster(s) a: why, b: why" (docs/design/envoy.md#nacks).
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

// idle reports whether only removals are due or pending.
func (l *ledger) idle() bool { return l.rests() && l.awaited == 0 }

// rests reports whether only removals are due.
func (l *ledger) rests() bool { return l.due.empty() && len(l.unfiltered) == 0 && len(l.unmoved) == 0 }

// stale reports whether Envoy serves an older form of something it rejected.
func (l *ledger) stale() bool {
	for name := range l.rejected.of {
		if l.held.has(name) {
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

// keyMark is what Envoy writes before an API key that two clients have. translate rejects such
// keys before they are sent.
const keyMark = "credential key:"

// redacted stands in the place of words that may have the content of a secret.
const redacted = "[redacted]"

// plainWords shortens Envoy's message to the part that helps people, without the content of
// secrets.
func plainWords(typ, words string) string {
	if at := strings.LastIndex(words, constraintMark); at >= 0 {
		words = words[at:]
	} else if typ == xds.SecretType && (len(words) > 200 || strings.Contains(words, "-----BEGIN")) {
		return redacted
	}
	if before, _, found := strings.Cut(words, keyMark); found {
		words = before + keyMark + " " + redacted
	}
	if len(words) > maxWords {
		words = words[:maxWords] + "…"
	}
	return strings.ToValidUTF8(strings.TrimSpace(words), "?")
}

// nameUnit is the length in bytes for which a name counts once more.
const nameUnit = 256

// Weight returns how much an unknown name counts: one, and one more for every 256 bytes.
func Weight(name string) int { return 1 + len(name)/nameUnit }

// know counts those of the names that the target does not have.
func (l *ledger) know(names []string, t *Target) {
	for _, name := range names {
		if t.Entry(l.typ, name) == nil {
			l.addUnknown(name)
		}
	}
}

func (l *ledger) addUnknown(name string) {
	if _, ok := l.unknown[name]; !ok {
		l.unknown[name] = struct{}{}
		l.strangers += Weight(name)
	}
}

func (l *ledger) dropUnknown(name string) {
	if _, ok := l.unknown[name]; ok {
		delete(l.unknown, name)
		l.strangers -= Weight(name)
	}
}
