package delta

import (
	"maps"
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// Envoy rejects a listener whose address another of its listeners has, and has the old address of a
// listener bound until it serves on the new one. So addresses that move between listeners in one edit
// need an order (docs/design/xds.md#addresses-that-move):
//
//   - A listener waits for another that is to leave its address.
//   - Where they wait for each other in a circle, one *makes way*: it is removed, and sent again.
//   - So does a listener that is in its own way, because the system does not let 0.0.0.0 and 127.0.0.1 be
//     bound side by side (xds.Binding.Exclusive).
//   - One that made way and still cannot be bound gets its older form back: another program has the
//     address.
//
// Of what Envoy holds from another stream, in a form that is not the target's, the addresses are not
// known: such a listener makes way when Envoy rejected it some times.

// moves tracks the addresses of a stream's listeners.
type moves struct {
	*stream
	held map[string]*Entry                  // in the form that Envoy accepted last
	at   map[xds.Socket]map[string]struct{} // names of held, by what they bind
	all  map[xds.Socket]map[string]struct{} // the same, by Socket.All
	ways map[string]*way
	soon map[string]tries
}

// tries counts the attempts to send a listener that should soon be able to bind its address.
type tries struct {
	version string
	count   int
}

// way is a listener that gives up its address for another listener.
type way struct {
	version string // of the form for which it does
	phase   phase
	before  *Entry // what it served, nil where that is not known
	words   string // of Envoy, why the new form cannot be bound
}

type phase int

const (
	leaves   phase = iota // it is to be removed
	left                  // it is removed, and the new form is tried
	comes                 // the older form is to be sent again
	cameBack              // the older form serves, until the listener changes or Plan.Forgive
)

// A listener whose address will be free soon is tried quickBinds times, after intervals that double from
// quickBind: an Envoy closes sockets some time after it acknowledged a listener's new form.
const (
	quickBinds = 7
	quickBind  = 20 * time.Millisecond
)

// OlderServed is in the words of a rejection, behind Envoy's, if the listener made way in vain.
const OlderServed = "; its older form is served"

func newMoves(s *stream) moves {
	sets := func() map[xds.Socket]map[string]struct{} { return map[xds.Socket]map[string]struct{}{} }
	return moves{stream: s, held: map[string]*Entry{}, at: sets(), all: sets(), ways: map[string]*way{}, soon: map[string]tries{}}
}

// binding returns the addresses that a listener binds. The caller must hold the lock of the
// targets.
func (e *Entry) binding() *xds.Binding {
	if e.binds == nil {
		binding := xds.BindingOf(e.Body)
		e.binds = &binding
	}
	return e.binds
}

// hold notes the form of a listener that Envoy has, nil if it has none.
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

func add(to map[xds.Socket]map[string]struct{}, s xds.Socket, name string) {
	if to[s] == nil {
		to[s] = map[string]struct{}{}
	}
	to[s][name] = struct{}{}
}

func drop(from map[xds.Socket]map[string]struct{}, s xds.Socket, name string) {
	if delete(from[s], name); len(from[s]) == 0 {
		delete(from, s)
	}
}

// holders returns the listeners of Envoy that have an address which b binds, sorted.
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

// moved returns the form in which a listener is sent now: e, or nil to remove it from its address,
// or its earlier form. wait is true if another listener must leave the address first.
func (m *moves) moved(name string, e *Entry) (form *Entry, wait bool) {
	l := m.ledgers[xds.ListenerType]
	delete(l.unmoved, name)
	if w := m.ways[name]; w != nil && (e == nil || w.version != e.Version) {
		delete(m.ways, name)
	}
	if known, tried := m.soon[name]; tried && (e == nil || known.version != e.Version) {
		delete(m.soon, name)
	}
	if e == nil || m.options.Unordered {
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
	if wait = len(blockers) > 0; wait {
		l.unmoved[name] = time.Time{}
	}
	return e, wait
}

// form returns what is sent for a listener that moves to e.
func (w *way) form(e *Entry) *Entry {
	switch w.phase {
	case leaves:
		return nil
	case comes:
		return w.before
	}
	return e
}

// moving reports whether Envoy has a listener in another form than e and is going to get e.
func (s *stream) moving(name string, e *Entry) bool {
	l := s.ledgers[xds.ListenerType]
	known, rejected := l.rejected.of[name]
	version, held := l.held.get(name)
	return !(held && version == e.Version) && (!rejected || known.again || known.version != e.Version)
}

// blockers returns the listeners that e waits for: they are served on an address of e, and are
// going to leave it. A listener blocks itself if the system does not allow both forms at once. A
// listener that is removed does not block: Envoy processes responses in order, and the removals of
// a response first.
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

// circle reports whether a listener waits for itself.
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

// learn processes a recorded answer to listeners.
func (m *moves) learn(l *ledger, r *Response, nack bool) {
	for _, e := range r.Set {
		if version, held := l.held.get(e.Name); held && version == e.Version {
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
			l.mark(name)
		}
	}
	l.look()
}

// look marks the listeners that wait for others as due.
func (l *ledger) look() {
	for _, name := range slices.Sorted(maps.Keys(l.unmoved)) {
		if l.unmoved[name].IsZero() {
			delete(l.unmoved, name)
			l.due.push(name)
		}
	}
}

// retry marks listeners as due whose time has come. It returns the time of the next one, zero for
// never.
func (l *ledger) retry(now time.Time) (next time.Time) {
	for _, name := range slices.Sorted(maps.Keys(l.unmoved)) {
		switch until := l.unmoved[name]; {
		case until.IsZero():
		case now.Before(until):
			next = earlier(next, until)
		default:
			delete(l.unmoved, name)
			l.due.push(name)
		}
	}
	return next
}

// arrived notes that Envoy has a listener in the form e.
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

// unbound notes that Envoy could not bind a listener's address. It is not a rejection if the
// address should soon be free.
func (m *moves) unbound(l *ledger, e *Entry, known rejection) {
	w := m.ways[e.Name]
	unknown := w == nil && l.held.has(e.Name) && m.held[e.Name] == nil
	tried := m.soon[e.Name].count
	switch {
	case w != nil && w.phase == comes:
		w.phase, w.before = left, nil // nothing is to be had of the older form
	case (w != nil && w.phase == left || duplicate(known.words)) && tried < quickBinds:
		m.soon[e.Name] = tries{e.Version, tried + 1}
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
	l.mark(e.Name)
}
