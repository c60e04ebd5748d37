package delta

import (
	"cmp"

	"github.com/gatefold/gatefold/translate/ordered"
)

// What is due of a type is what told differs from the target in. told has the target's entry of a name that needs no
// message: the Envoy accepted it, was sent it, rejected it in this version, or the client does not subscribe to the
// name. So a name becomes due when its resource changes, and when it is taken out of told (look). If the target has no
// such name, a stub in told makes it due. docs/design/xds.md#what-is-due has what each event does to told.

// all returns the resources of the type that the target has.
func (l *ledger) all() entries { return l.target.kinds[l.typ].entries }

// differs yields the names that are due or held back, sorted: the entry in told and that of the target, nil where there
// is none.
func (l *ledger) differs(yield func(was, is *Entry) bool) {
	ordered.Diff(l.told.Set, l.all().Set)(yield)
}

// look makes a name due: fill compares what the Envoy has with the target.
func (l *ledger) look(name string) {
	delete(l.unmoved, name)
	if l.all().has(name) {
		l.told = l.told.without(name)
	} else {
		l.told = l.told.with(stub(name, ""))
	}
}

// askAll makes the names of a sorted list due.
func (l *ledger) askAll(names []string) {
	l.told = l.told.minus(names)
	all := l.all()
	var missing []*Entry
	for _, name := range names {
		if !all.has(name) {
			missing = append(missing, stub(name, ""))
		}
	}
	l.told = l.told.take(missing, entries{})
}

// askRest makes all names due that the Envoy does not have in the target's version. It is called when the client begins
// to subscribe to all names.
func (l *ledger) askRest() {
	for was, is := range ordered.Diff(l.held.Set, l.all().Set) {
		if is != nil && (was == nil || was.Version != is.Version) {
			l.told = l.told.without(is.Name)
		}
	}
}

// keepGone keeps names due that were due when the target lost them.
func (l *ledger) keepGone(changes []Change) {
	for _, c := range changes {
		if c.To == nil && !l.told.has(c.From.Name) {
			l.told = l.told.with(stub(c.From.Name, ""))
		}
	}
}

// settle ends that a name is due.
func (l *ledger) settle(name string) {
	if e := l.all().get(name); e != nil {
		l.told = l.told.with(e)
	} else {
		l.told = l.told.without(name)
	}
}

// settled are names that need no message any more, in order.
type settled struct {
	told []*Entry // what the target has of them
	gone []string // those that the target does not have
}

// add adds a name, with the entry of the target, nil if there is none.
func (s *settled) add(name string, is *Entry) {
	if is != nil {
		s.told = append(s.told, is)
	} else {
		s.gone = append(s.gone, name)
	}
}

// count returns the number of names.
func (s *settled) count() int { return len(s.told) + len(s.gone) }

// settleAll ends that names are due.
func (l *ledger) settleAll(names settled) {
	l.told = l.told.minus(names.gone).take(names.told, l.all())
}

// heldBack reports whether a name that is due cannot be sent yet: it is in an unanswered response, or it is a listener
// whose address is not free before a time.
func (l *ledger) heldBack(name string) bool {
	_, unmoved := l.unmoved[name]
	return unmoved || l.inFlight(name) != nil
}

// nothingDue reports whether no name of the type is due. Removals that wait in l.gone do not count, and neither do
// names in unanswered responses.
func (l *ledger) nothingDue() bool {
	for was, is := range l.differs {
		if name := cmp.Or(is, was).Name; l.wants(name) && l.inFlight(name) == nil {
			return false
		}
	}
	return true
}

// countDue returns how many names of the type are due.
func (l *ledger) countDue() (count int) {
	for was, is := range l.differs {
		if name := cmp.Or(is, was).Name; l.wants(name) && l.inFlight(name) == nil {
			count++
		}
	}
	return count
}

// changesInFlight reports whether the resource of a name in an unanswered response changed since it was sent.
func (l *ledger) changesInFlight() bool {
	for was, is := range l.differs {
		if l.inFlight(cmp.Or(is, was).Name) != nil {
			return true
		}
	}
	return false
}
