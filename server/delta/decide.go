package delta

import "github.com/gatefold/gatefold/translate/xds"

// action is what a response says about one name of a resource type, as decide returns it.
type action int

const (
	nothing    action = iota
	set               // send the resource
	remove            // send a removal
	removeLast        // send a removal after everything that may use the resource is gone
)

// decide compares what the stream's Envoy has under a name with e, the target's resource, and returns what to
// send. e is nil if the target has no such resource. A version that the Envoy rejected is sent again only if
// its retry is due. A version that the Envoy has is sent again only if the name is in l.force. decide forgets
// the rejection of a version that the target no longer has. If ordered is false (Options.Unordered), the
// removal of a resource that the Envoy has is not delayed to the end.
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
		// The client gets an answer for a name that does not exist, so that it does not wait for the name (xDS
		// protocol, "Deleting Resources"). The exception is a filter: a listener waits forever if its filter is
		// removed, but only 15 s without an answer.
		return remove
	}
	return nothing
}

// goesAlone reports whether a name needs a response of its own. It returns true if the name is in l.alone: it
// was in a rejected response, or its failed bind is retried. It also returns true if the name replaces an
// accepted RouteConfiguration, assignment, filter or secret: if one of several is bad, Envoy applies an
// arbitrary part of them (docs/design/envoy.md#nacks). Of clusters and listeners, Envoy applies all good ones.
func (l *ledger) goesAlone(name string) bool {
	if _, ok := l.alone[name]; ok {
		return true
	}
	if l.typ == xds.ClusterType || l.typ == xds.ListenerType {
		return false
	}
	return l.held.has(name)
}
