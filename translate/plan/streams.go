package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// streamPair has the two ir.Streams that get the connections for one name: a server name, a wildcard, or "*" for
// connections without TLS. The field before is the Stream in the old configuration, and the field after is the Stream
// in the new configuration. A Stream is nil if its configuration has no TCP, TLS or UDP listener that accepts the
// connections.
type streamPair struct {
	port          *portPair
	before, after *ir.Stream
}

// same reports whether both Streams handle every connection in the same way. It returns true if both are nil,
// and false if only one is nil.
func (s streamPair) same() bool {
	if s.before == nil || s.after == nil {
		return s.before == s.after
	}
	return s.port.comparison.effects.same(streamEffect(s.before), streamEffect(s.after))
}

// streamEffect returns the fields of an ir.Stream that decide how connections are handled.
func streamEffect(s *ir.Stream) any {
	if s.Route == nil {
		return [2]any{s.TLS, s.Access}
	}
	return [4]any{s.TLS, s.Access, s.Route.Backends, s.Route.Cluster}
}

// reasons returns the differences between the two Streams. The result is never empty. One of the two Streams may be
// nil, but not both.
func (s streamPair) reasons() (out []Reason) {
	c := s.port.comparison
	x, y := streamWords(s.before), streamWords(s.after)
	if x != y {
		out = append(out, Reason{y + "; before: " + x, s.places()})
	}
	a, b := s.before, s.after
	if a == nil || b == nil {
		return out
	}
	if s.otherAccess() {
		out = append(out, s.accessReason())
	}
	if !c.effects.same(a.TLS, b.TLS) {
		out = append(out, Reason{"TLS of listener " + b.Listener + " differs", s.port.portPlaces()})
	}
	if x == y && a.Route != nil && b.Route != nil {
		for i := range min(len(a.Route.Backends), len(b.Route.Backends)) {
			one, other := a.Route.Backends[i].Cluster, b.Route.Backends[i].Cluster
			if one == other && !c.effects.sameCluster(one, other) {
				out = append(out, c.backends.reasons(one, s.places())...)
			}
		}
	}
	if len(out) == 0 {
		out = []Reason{{streamWords(b) + " (changed)", s.places()}}
	}
	return out
}

// places returns at most one place: the backendRefs of the route that gets the connections in the new configuration.
// If no route gets them in the new configuration, places returns the backendRefs of the route that gets them in the
// old configuration.
func (s streamPair) places() (out []Place) {
	for side, one := range []*ir.Stream{s.before, s.after} {
		if one != nil && one.Route != nil {
			out = append(out, Place{Source: explain.Source{Object: one.Route.Origin.Key, Field: "spec.rules[0].backendRefs"}, Before: side == 0})
		}
	}
	return currentFirst(out)
}

// otherAccess reports whether both Streams exist and admit different clients.
func (s streamPair) otherAccess() bool {
	return s.before != nil && s.after != nil && !s.port.comparison.effects.same([]any{s.before.Access}, []any{s.after.Access})
}

// accessReason returns a Reason that says which clients may connect in the old and in the new configuration. The
// Reason has the places of the policies that decide this (accessPlaces). Neither Stream may be nil.
func (s streamPair) accessReason() Reason {
	text := "acl of the connections: " + change(accessWords(s.before.Access), accessWords(s.after.Access))
	if a, b := aclOf(s.before), aclOf(s.after); a != nil && b != nil {
		text = joined(text, listDetails("ranges", aclLines(a), aclLines(b)))
	}
	return Reason{text, s.accessPlaces()}
}

// accessPlaces returns the places of the policies that say which clients may connect. Neither Stream may be
// nil.
func (s streamPair) accessPlaces() (out []Place) {
	for side, one := range []*ir.Stream{s.before, s.after} {
		if one.Access == nil {
			continue
		}
		for _, part := range one.Access.Parts {
			out = append(out, Place{Source: explain.Source{Object: part.Object, Field: part.Field}, Before: side == 0})
		}
	}
	return currentFirst(out)
}

// countAccess adds a change of the policy field acl to the policyCounts of the comparison, if both Streams exist and
// admit different clients. It adds nothing if no route gets the connections.
func (s streamPair) countAccess() {
	if !s.otherAccess() {
		return
	}
	before, after := s.before.Access, s.after.Access
	one := PolicyChange{Kind: Changed, Field: string(ir.FieldACL), Before: accessWords(before), After: accessWords(after), Policies: objectsOf(s.accessPlaces())}
	switch {
	case after != nil && after.Closed != "":
		one.Kind = Closed
	case before == nil:
		one.Kind = Added
	case after == nil:
		one.Kind = Removed
	}
	for _, stream := range []*ir.Stream{s.before, s.after} {
		if stream.Route != nil && (stream == s.after || one.Kind == Removed) {
			s.port.comparison.policies.countRule(one, stream.Route.Origin.Key, "")
			return
		}
	}
}

// aclOf returns the ACL of an ir.Stream. It returns nil if there is none, or if s is nil.
func aclOf(s *ir.Stream) *ir.ACL {
	if s == nil || s.Access == nil {
		return nil
	}
	return s.Access.ACL
}

// accessWords returns which clients may connect, in words. It shows at most maxListed ranges, and counts the
// others. It returns "" if all clients may connect.
func accessWords(a *ir.Access) string {
	switch {
	case a == nil:
		return ""
	case a.Closed != "":
		return "every connection is closed: " + a.Closed
	}
	words := aclLines(a.ACL)
	if more := len(words) - maxListed; more > 0 {
		words = append(words[:maxListed], fmt.Sprintf("%d more", more))
	}
	others := map[bool]string{true: "others pass", false: "others are closed"}[a.ACL.Allow]
	return strings.Join(append(words, others), ", ")
}

// streamWords returns, in words, where an ir.Stream sends connections. s may be nil.
func streamWords(s *ir.Stream) string {
	switch {
	case s == nil:
		return "no listener of TCP, TLS or UDP has the connections"
	case s.Route == nil:
		return "no route has the connections of listener " + s.Listener
	}
	var backends []string
	for _, b := range s.Route.Backends {
		name := cmp.Or(b.Cluster, "a reference that is not resolved")
		if len(s.Route.Backends) > 1 || b.Weight != 1 {
			name += fmt.Sprintf(" (weight %d)", b.Weight)
		}
		backends = append(backends, name)
	}
	return s.Route.Origin.Key.String() + " sends to " + orNone(backends)
}
