package delta

import (
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// Envoy rejects a listener whose address another of its listeners has. It keeps the old address of a listener
// bound until the listener serves on the new one. So addresses that move between listeners in one edit need an
// order (docs/design/xds.md#addresses-that-move):
//
//   - A listener waits for another listener that will leave its address.
//   - If listeners wait for each other in a circle, one of them *makes way*: it is removed, and sent again.
//   - A listener also makes way if its own old form blocks the new one. For example, the system does not let
//     0.0.0.0 and 127.0.0.1 be bound side by side (xds.Binding.Exclusive).
//   - If a listener made way and still cannot be bound, it gets its older form back: another program has the
//     address.
//
// If Envoy has a listener from another stream, in a form that is not the target's, the addresses of that form
// are not known. Such a listener makes way after Envoy has rejected it several times.

// moves tracks which addresses the listeners of a stream's Envoy bind, and delays or removes a listener if
// another one has its address.
type moves struct {
	*stream
	held map[string]*Entry                  // the form that Envoy accepted last, by the listener's name
	at   map[xds.Socket]map[string]struct{} // the listeners in held that bind a socket, by socket
	all  map[xds.Socket]map[string]struct{} // the same listeners, by the wildcard socket (Socket.All) of their port
	// ways has the listeners that make way, by name.
	ways map[string]*way
	// soon counts the attempts for listeners whose address should be free soon, by name.
	soon map[string]tries
}

// tries counts how often one version of a listener was sent again after Envoy could not bind the listener's address.
// It counts only while the address is expected to become free soon (see quickBinds).
type tries struct {
	version string
	count   int
}

// way is the state of a listener that makes way: the listener gives up its address, so that its own new form or
// another listener can bind the address.
type way struct {
	version string // the version of the new form
	phase   phase
	before  *Entry // the form that Envoy served before; nil if it is not known
	words   string // Envoy's error, if the new form could not be bound
}

// phase is the progress of a listener that is giving up its address (see way).
type phase int

const (
	leaves   phase = iota // the listener is to be removed
	left                  // the listener is removed, and the new form is sent
	comes                 // the older form is to be sent again
	cameBack              // Envoy serves the older form, until the listener changes or Plan.Forgive is called
)

// An Envoy closes the old sockets of a listener some time after it acknowledged the listener's new form. Until then,
// no other socket can be bound to the old address. A listener that cannot be bound for this reason is sent again, up
// to quickBinds times. The first wait is quickBind, and each further wait is twice as long.
const (
	quickBinds = 7
	quickBind  = 20 * time.Millisecond
)

// OlderServed is added to Envoy's error if a listener gave up its address for a while (see way), but its new form
// still could not be bound. The listener then gets its older form back.
const OlderServed = "; its older form is served"

// newMoves returns the moves (see the type moves) for a new stream. No listeners of its Envoy are known yet.
func newMoves(s *stream) moves {
	sets := func() map[xds.Socket]map[string]struct{} { return map[xds.Socket]map[string]struct{}{} }
	return moves{stream: s, held: map[string]*Entry{}, at: sets(), all: sets(), ways: map[string]*way{}, soon: map[string]tries{}}
}

// binding returns the addresses that a listener binds. The caller must hold the lock that guards the
// plans (see the package comment), because binding stores its result in e.
func (e *Entry) binding() *xds.Binding {
	if e.binds == nil {
		binding := xds.BindingOf(e.Body)
		e.binds = &binding
	}
	return e.binds
}

// hold records that Envoy now has the listener with the given name, in the version e. If e is nil, hold records that
// Envoy no longer has the listener.
func (m *moves) hold(name string, e *Entry) {
	if before := m.held[name]; before != nil {
		for _, s := range before.binding().Sockets {
			drop(m.at, s, name)
			drop(m.all, s.All(), name)
		}
		delete(m.held, name)
	}
	if e == nil {
		return
	}
	m.held[name] = e
	for _, s := range e.binding().Sockets {
		add(m.at, s, name)
		add(m.all, s.All(), name)
	}
}

// add adds the name of a listener to names[s]: the names of the listeners that bind the socket s.
func add(names map[xds.Socket]map[string]struct{}, s xds.Socket, name string) {
	if names[s] == nil {
		names[s] = map[string]struct{}{}
	}
	names[s][name] = struct{}{}
}

// drop removes the name of a listener from names[s]: the names of the listeners that bind the socket s.
func drop(names map[xds.Socket]map[string]struct{}, s xds.Socket, name string) {
	if delete(names[s], name); len(names[s]) == 0 {
		delete(names, s)
	}
}

// holders returns the names of the listeners that Envoy has and whose sockets conflict with b (the addresses of
// another listener), sorted. If b is exclusive, an address also conflicts with the wildcard address (0.0.0.0 or
// "::") on the same port.
func (m *moves) holders(b *xds.Binding) []string {
	out := map[string]struct{}{}
	for _, s := range b.Sockets {
		maps.Copy(out, m.at[s])
		switch {
		case !b.Exclusive:
		case s.Addr().IsUnspecified():
			maps.Copy(out, m.all[s.All()])
		default:
			maps.Copy(out, m.at[s.All()])
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// moved returns the form in which a listener is sent now. That is e, or the listener's older form if e could not
// be bound. The form is nil if e is nil, or if the listener must first be removed from its old address. wait is
// true if another listener must leave the address first; then nothing is sent.
func (m *moves) moved(name string, e *Entry) (form *Entry, wait bool) {
	if w := m.ways[name]; w != nil && (e == nil || w.version != e.Version) {
		delete(m.ways, name)
	}
	if known, tried := m.soon[name]; tried && (e == nil || known.version != e.Version) {
		delete(m.soon, name)
	}
	if e == nil {
		return e, false
	}
	if w := m.ways[name]; w != nil && w.phase != left {
		return w.form(e), false
	}
	if !m.moving(name, e) {
		return e, false
	}
	blockers := m.blockers(name, e)
	if slices.Contains(blockers, name) || m.circle(name, blockers) {
		m.ways[name] = &way{version: e.Version, before: m.held[name]}
		return nil, false
	}
	return e, len(blockers) > 0
}

// form returns the version of a listener to send now, while the listener makes way (see way). This is the new form
// (the parameter e), or the form that Envoy served before. If the phase is the constant leaves, the result is nil:
// Envoy must remove the listener.
func (w *way) form(e *Entry) *Entry {
	switch w.phase {
	case leaves:
		return nil
	case comes:
		return w.before
	}
	return e
}

// moving reports whether the listener e is still to be sent. It returns false if Envoy already has this version,
// or has rejected it and the version is not to be tried again.
func (s *stream) moving(name string, e *Entry) bool {
	l := s.ledgers[xds.ListenerType]
	known, rejected := l.rejected.of[name]
	has := l.held.get(name)
	return !(has != nil && has.Version == e.Version) && (!rejected || known.again || known.version != e.Version)
}

// blockers returns the names of the listeners that must leave an address before the listener e can be sent. Envoy
// still serves each of these listeners on an address of e, and the listener's new form is still to be sent. The
// result includes the name of e itself if the operating system cannot bind the old and the new form of e at the same
// time. A listener that is about to be removed is no blocker: Envoy processes responses in order, and first removes
// the listeners that a response removes.
func (m *moves) blockers(name string, e *Entry) (out []string) {
	for _, other := range m.holders(e.binding()) {
		if other == name {
			if e.binding().Exclusive && !slices.Equal(m.held[name].binding().Sockets, e.binding().Sockets) {
				out = append(out, name)
			}
			continue
		}
		if w := m.ways[other]; w != nil && w.phase == leaves {
			continue
		}
		if target := m.listener(other); target != nil && m.moving(other, target) {
			out = append(out, other)
		}
	}
	return out
}

// listener returns the form of a listener that this Envoy should have, nil if it should have none.
func (s *stream) listener(name string) *Entry {
	e := s.entry(xds.ListenerType, name)
	if e != nil && s.older {
		e = e.formFor(s.release)
	}
	return e
}

// circle reports whether a listener waits for itself. The parameter blockers has the listeners that must leave
// an address before the listener with the given name can be sent. Each blocker may wait for further listeners.
// The result is true if the listener with the given name is a blocker, or one of these further listeners.
func (m *moves) circle(name string, blockers []string) bool {
	seen, next := map[string]bool{}, slices.Clone(blockers)
	for len(next) > 0 {
		other := next[len(next)-1]
		next = next[:len(next)-1]
		if other == name {
			return true
		}
		if !seen[other] {
			seen[other] = true
			next = append(next, m.blockers(other, m.listener(other))...)
		}
	}
	return false
}

// learn is called after Envoy's answer to r, a response with listeners. nack is true if the answer is a rejection.
// The ledger l has already recorded the answer. learn records which listeners Envoy has now, and moves listeners
// that are giving up their address to the next phase (see way).
func (m *moves) learn(l *ledger, r *Response, nack bool) {
	for _, e := range r.Set {
		if has := l.held.get(e.Name); has != nil && has.Version == e.Version {
			m.hold(e.Name, e)
			m.arrived(l, e)
		} else if known := l.rejected.of[e.Name]; nack && known.version == e.Version && BindFailed(known.words) {
			m.unbound(l, e, known)
		}
	}
	for _, name := range r.Removed {
		if l.held.has(name) {
			continue
		}
		m.hold(name, nil)
		if w := m.ways[name]; w != nil && w.phase == leaves {
			w.phase = left
			l.look(name)
		}
	}
}

// retry ends the waits in l.unmoved that are over. The result is the earliest end of the others, or the zero time if
// there are none.
func (l *ledger) retry(now time.Time) (next time.Time) {
	for name, until := range l.unmoved {
		if now.Before(until) {
			next = earlierNonZero(next, until)
		} else {
			delete(l.unmoved, name)
		}
	}
	return next
}

// arrived records that Envoy accepted the listener e. This can end a move of the listener (see way). If e is the new
// form, the move is complete. If e is the older form, Envoy rejected the new form before (see unbound): arrived
// records this rejection again, and the older form stays.
func (m *moves) arrived(l *ledger, e *Entry) {
	delete(m.soon, e.Name)
	w := m.ways[e.Name]
	switch {
	case w == nil:
	case w.phase == comes && w.before == e:
		w.phase = cameBack
		l.rejected.set(e.Name, rejection{version: w.version, words: w.words, times: 1})
	default:
		delete(m.ways, e.Name)
	}
}

// unbound is called after Envoy could not bind the address of the listener e. The parameter known is Envoy's
// rejection. In these cases unbound forgets the rejection, and the listener is sent again:
//   - The address is expected to become free soon: e is sent again after a wait (see quickBinds).
//   - Envoy has an older form whose addresses are not known: Envoy must remove it, and then gets e (see way).
//   - The listener gave up its address for e, and its older form is known: the older form is sent.
//   - e is that older form: the new form is sent again.
func (m *moves) unbound(l *ledger, e *Entry, known rejection) {
	w := m.ways[e.Name]
	unknown := w == nil && l.held.has(e.Name) && m.held[e.Name] == nil
	tried := m.soon[e.Name].count
	switch {
	case w != nil && w.phase == comes:
		w.phase, w.before = left, nil // the older form cannot be bound either
	case (w != nil && w.phase == left || duplicate(known.words)) && tried < quickBinds:
		m.soon[e.Name] = tries{e.Version, tried + 1}
		l.look(e.Name)
		l.unmoved[e.Name] = m.now.Add(backoff(quickBind, tried+1))
		l.rejected.remove(e.Name)
		return
	case w != nil && w.phase == left && w.before != nil:
		w.phase, w.words = comes, known.words+OlderServed
	case unknown && (duplicate(known.words) || e.binding().Exclusive && known.times >= quickBinds):
		m.ways[e.Name] = &way{version: e.Version}
		delete(m.soon, e.Name)
	default:
		return
	}
	l.rejected.remove(e.Name)
	l.look(e.Name)
}
