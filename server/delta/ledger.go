package delta

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// ledger is the state of one resource type on a stream: the names that the client requested, and the resources that
// gatefold sent, and that the client accepted or rejected. A name is in at most one pending response. If its
// resource changes meanwhile, the name is compared again after the answer, so that the newest version is sent.
type ledger struct {
	*stream
	typ      string
	wildcard bool                 // the client subscribes to all names
	waits    bool                 // the client waits for a first response, even an empty one
	names    entries              // the names that the client subscribes to, whatever the version; more are in unknown
	held     entries              // what Envoy accepted last; without content where it is from an earlier stream
	kept     entries              // state of the world: what Envoy does not let go; each response has to list it
	told     entries              // what of the target needs no message: see told.go
	flight   map[string]*Response // nonce → unanswered response; maxFlight at most
	awaited  int                  // the number of names in flight
	rejected rejections
	alone    map[string]struct{} // names to send in a response of their own, to find which one is bad
	force    map[string]struct{} // names to send although the client has this version
	gone     queue               // names that the client has, to be removed when no other resource can use them
	// unmoved are listeners that are not sent before a time, because their address is not free yet.
	unmoved map[string]time.Time
	// unknown has the names that the target did not have when the client requested them or reported them as held. The
	// value is true if the client subscribes to the name.
	unknown       map[string]bool
	unknownWeight int // the sum of the Weight of unknown
	closings
}

// maxFlight bounds how many responses of a type may be unanswered. An Envoy answers every response. The bound
// keeps inFlight fast, because inFlight looks at each unanswered response.
const maxFlight = 64

// rejection is a version of a resource that Envoy rejected, with Envoy's error.
type rejection struct {
	version string
	words   string
	times   int       // how often the version was rejected in a row
	at      time.Time // when it is sent again; zero if no retry is planned: see moves.rebind
	again   bool      // the time of the retry has come
}

// rejections has the resources of one type that Envoy rejected, by name.
type rejections struct {
	of    map[string]rejection
	edits uint64 // counts changes of the set, so that a change is found without a comparison
}

// set stores a rejection of a name.
func (r *rejections) set(name string, now rejection) {
	r.of[name] = now
	r.edits++
}

// remove removes the rejection of a name, if there is one.
func (r *rejections) remove(name string) {
	if _, ok := r.of[name]; ok {
		delete(r.of, name)
		r.edits++
	}
}

// newLedger returns the ledger of a type that the client has not requested yet.
func newLedger(s *stream, typ string) *ledger {
	return &ledger{
		stream: s, typ: typ, flight: map[string]*Response{}, rejected: rejections{of: map[string]rejection{}},
		alone: map[string]struct{}{}, force: map[string]struct{}{}, unknown: map[string]bool{},
		unmoved: map[string]time.Time{}, closings: closings{since: map[string]time.Time{}, closed: map[string]struct{}{}},
	}
}

// inFlight returns the unanswered response that contains the given name, nil if there is none.
func (l *ledger) inFlight(name string) *Response {
	for _, r := range l.flight {
		if r.holds(name) {
			return r
		}
	}
	return nil
}

// subscribe adds names, which are sorted, to the subscription and makes them due. A resource that the client already
// has is sent again, because the client may have lost it (xDS protocol, "Subscribing to Resources").
//
// The names in the parameter known are an exception. The client reports their versions in the same request, so such
// a resource is sent only if the client's version differs from the target's. If the parameter first is true, the
// request is the first of its type, and subscribe does not make the names in known due. The method resume is called
// later, and makes them due where needed.
func (l *ledger) subscribe(names []string, known map[string]string, first bool) {
	asked := make([]string, 0, len(names))
	l.want(names)
	for _, name := range names {
		_, told := known[name]
		if !told && (l.held.has(name) || l.inFlight(name) != nil) {
			l.force[name] = struct{}{}
		}
		if !told || !first {
			asked = append(asked, name)
		}
	}
	l.askAll(asked)
}

// resume records the resources that the Envoy has from an earlier stream. The parameter names has the names of
// these resources, sorted, and the parameter versions has their versions. resume skips names to which the client
// does not subscribe. If the Envoy's version differs from the version of the target, resume makes the name due.
//
// If the two versions are equal, nothing needs to be sent. But a listener, route table or filter still becomes due.
// Plan.fill then calls Plan.holds, which records that the Envoy has accepted it.
func (l *ledger) resume(names []string, versions map[string]string) {
	var held, told []*Entry
	all := l.all()
	for _, name := range names {
		if !l.wants(name) {
			continue
		}
		e := all.get(name)
		if e == nil {
			l.addUnknown(name)
		}
		if e != nil && e.Version == versions[name] {
			held = append(held, e)
			if l.typ != xds.RouteType && l.typ != xds.FilterType && l.typ != xds.ListenerType {
				told = append(told, e)
				continue // Plan.holds does nothing for other types
			}
		} else {
			held = append(held, stub(name, versions[name]))
		}
		l.look(name)
	}
	l.held, l.told = l.held.take(held, all), l.told.take(told, all)
}

// unsubscribe removes names from the subscription. It forgets their state, unless the client subscribes to all
// names.
func (l *ledger) unsubscribe(names []string) {
	for _, name := range names {
		l.names = l.names.without(name)
		if l.unknown[name] {
			l.unknown[name] = false
		}
		l.forgetUnwanted(name)
	}
}

// forgetUnwanted forgets the state of a name if the client does not subscribe to it.
func (l *ledger) forgetUnwanted(name string) {
	if !l.wants(name) {
		l.forget(name)
	}
}

// touched yields the names of the resources that the client has, and the names in unanswered responses. It may yield
// a name twice. When a subscription to all names ends, the ledger may have to forget these names. It may also have to
// forget the names of rejected resources, which touched does not look for.
func (l *ledger) touched(yield func(string) bool) {
	for e := range l.held.All() {
		if !yield(e.Name) {
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

// forget removes all state of a name, except whether the client subscribes to it. It is called when the client no
// longer wants the name.
func (l *ledger) forget(name string) {
	if r := l.inFlight(name); r != nil {
		r.forget(name)
		l.awaited--
	}
	l.held, l.kept = l.held.without(name), l.kept.without(name)
	l.rejected.remove(name)
	delete(l.alone, name)
	delete(l.force, name)
	delete(l.unmoved, name)
	l.closings.drop(name)
	l.dropUnknown(name)
	l.settle(name)
	l.gone.drop(name)
}

// book records that the response r is sent, and is not answered yet. It does not wait for the answer. It sorts
// r.Set and r.Removed.
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

// sortEntries sorts entries by name.
func sortEntries(all []*Entry) {
	slices.SortFunc(all, byName)
}

// accept records the ACK of the response with this nonce: the client has the resources of the response now, and
// no longer has the removed ones.
func (l *ledger) accept(nonce string) {
	r := l.flight[nonce]
	delete(l.flight, nonce)
	taken := slices.Clone(r.Set)
	if len(r.forgotten) > 0 {
		taken = slices.DeleteFunc(taken, func(e *Entry) bool { return !r.holds(e.Name) })
	}
	for i, e := range taken {
		if e.closed { // its content was made for this stream
			taken[i] = stub(e.Name, e.Version)
		}
	}
	l.held = l.held.take(taken, l.all())
	for _, e := range taken {
		l.kept = l.kept.without(e.Name)
		l.answered(r, e.Name)
		l.rejected.remove(e.Name)
		delete(l.alone, e.Name)
	}
	for _, name := range r.Removed {
		if l.answered(r, name) {
			l.held = l.held.without(name)
			l.rejected.remove(name)
			delete(l.alone, name)
			if !l.named(name) {
				l.dropUnknown(name)
			}
		}
	}
}

// reject records the NACK of the response with this nonce. The parameter words is Envoy's error. A resource is bad
// if the error names it. It is also bad if the response has neither another resource nor a removal. reject stores
// bad resources in l.rejected, so that decide does not send the bad version again. All other resources and removals
// of the response are sent again one by one, because Envoy may have applied any of them
// (docs/design/reliability.md#findings). A removal that was rejected alone counts as done.
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
		l.look(e.Name)
	}
	for _, name := range r.Removed {
		if !l.answered(r, name) {
			continue
		}
		if single { // sending the removal again would not help
			if e := l.held.get(name); l.options.World && e != nil {
				l.kept = l.kept.with(e)
			}
			l.held = l.held.without(name)
			delete(l.alone, name)
			continue
		}
		l.alone[name] = struct{}{}
		l.look(name)
	}
}

// answered records that the client answered one name of the response r. It returns false, and changes nothing, if the
// client unsubscribed from the name after r was sent.
func (l *ledger) answered(r *Response, name string) bool {
	if _, forgotten := r.forgotten[name]; forgotten {
		return false
	}
	l.awaited--
	return true
}

// idle reports whether the stream has finished with the type: no name is due, and no answer is pending. Removals
// that wait in l.gone do not count.
func (l *ledger) idle() bool { return l.nothingDue() && l.awaited == 0 }

// stale reports whether Envoy rejected any resource of the type, and still has an earlier accepted version of
// it.
func (l *ledger) stale() bool {
	for name := range l.rejected.of {
		if l.held.has(name) {
			return true
		}
	}
	return false
}
