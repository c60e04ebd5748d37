package delta

import "github.com/gatefold/gatefold/translate/xds"

// action is what to do with one name.
type action int

const (
	nothing    action = iota
	set               // send it
	remove            // say that it is not there
	removeLast        // say so when nothing can use it any more
)

// decide compares what the stream has of a name with its target e.
func (l *ledger) decide(name string, e *Entry, ordered bool) action {
	_, forced := l.force[name]
	version, held := l.held.get(name)
	known, rejected := l.rejected.of[name]
	if e != nil {
		l.gone.drop(name)
		if rejected && known.version == e.Version {
			if known.again {
				return set
			}
			return nothing
		}
		l.rejected.remove(name)
		if held && version == e.Version && !forced {
			return nothing
		}
		return set
	}
	delete(l.force, name)
	l.rejected.remove(name)
	named := l.names.has(name)
	switch {
	case held && ordered && l.typ != xds.ListenerType:
		return removeLast
	case held, named && l.typ != xds.FilterType:
		// A name that does not exist is answered, so that Envoy does not wait
		// for it (xDS protocol, "Deleting Resources"). A listener that is told so of its
		// filter waits for ever, and without an answer for 15 s.
		return remove
	}
	return nothing
}

// goesAlone reports whether a name needs a response of its own. That is so for a name that was in a
// rejected response. It is also so if it replaces an accepted RouteConfiguration, assignment or
// secret: of several, Envoy applies an arbitrary part if one is bad (docs/design/envoy.md#nacks).
// Of clusters and listeners, Envoy applies all good ones.
func (l *ledger) goesAlone(name string) bool {
	if _, ok := l.alone[name]; ok {
		return true
	}
	if l.typ == xds.ClusterType || l.typ == xds.ListenerType {
		return false
	}
	return l.held.has(name)
}
