package delta

import "github.com/gatefold/gatefold/translate/xds"

// action is what a response says about one name of a resource type, as decide returns it.
type action int

const (
	nothing    action = iota
	later             // look at the name again when the client answered, or when a time has come
	set               // send the resource
	remove            // send a removal
	removeLast        // send a removal after everything that may use the resource is gone
)

// decide returns what to send for a name. It compares the version that the Envoy has with the resource that the Envoy
// should have. The parameter e is this resource in the target, or nil if the target has no resource of this name.
//
// If e is not nil, e is sent, with two exceptions. If the Envoy has this version, e is sent again only if the name
// is in l.force. If the Envoy rejected this version, e is sent again only if its retry is due. decide forgets a
// rejection of any other version.
//
// If e is nil:
//   - A listener that the Envoy has is removed at once.
//   - Another resource that the Envoy has is removed last.
//   - If the Envoy has no such resource, but requested it by name, a removal is sent, except for a filter.
func (l *ledger) decide(name string, e *Entry) action {
	_, forced := l.force[name]
	has := l.held.get(name)
	held := has != nil
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
		if held && has.Version == e.Version && !forced {
			return nothing
		}
		return set
	}
	delete(l.force, name)
	l.rejected.remove(name)
	named := l.named(name)
	switch {
	case held && l.typ != xds.ListenerType:
		return removeLast
	case held, named && l.typ != xds.FilterType:
		// The client gets an answer for a name that does not exist, so that it does not wait for the name (xDS
		// protocol, "Deleting Resources"). The exception is a filter: a listener waits forever if its filter is
		// removed, but only 15 s without an answer.
		return remove
	}
	return nothing
}

// goesAlone reports whether the resource of this name must be the only one in its response. It returns true if the
// name is in l.alone: after a rejected response, or for the retry of a failed bind. It also returns true if the
// Envoy already has a resource of this name, unless the resource is a cluster or listener. The reason is that
// Envoy applies only some of several RouteConfigurations, assignments, filters or secrets if one of them is bad
// (docs/design/envoy.md#nacks).
func (l *ledger) goesAlone(name string) bool {
	if _, ok := l.alone[name]; ok {
		return true
	}
	if l.typ == xds.ClusterType || l.typ == xds.ListenerType {
		return false
	}
	return l.held.has(name)
}
