package listen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Order says which of two listeners of one Gateway comes first, if both want a port or a hostname.
type Order struct {
	Gateway manifest.Key
	// Granted reports whether the annotation gatefold.io/hostnames of a namespace limits its hosts. The hostname of an
	// accepted listener is then one of them.
	Granted func(namespace string) bool
	// Had reports whether the listener is the incumbent (see route.Rank.Incumbent). It is called only if listeners of two
	// objects are in conflict.
	Had func(*Listener) bool
}

// compare compares two listeners by these criteria, in this order: the platform team's (the flag --cluster-paths), the
// Gateway's own, one whose Namespace has the hostname in its annotation, the incumbent. If the result is 0, the first
// in the list comes first: listeners are in the order of CompareSets.
func (o Order) compare(a, b *Listener) int {
	if order := o.compareRights(a, b); order != 0 {
		return order
	}
	return ir.TrueFirst(o.Had(a), o.Had(b))
}

// compareRights compares two listeners by the criteria of compare but the last one. The listeners of one object are
// equal.
func (o Order) compareRights(a, b *Listener) int {
	return cmp.Or(
		ir.TrueFirst(!a.Outside, !b.Outside),
		ir.TrueFirst(a.Owner == o.Gateway, b.Owner == o.Gateway),
		ir.TrueFirst(o.Granted(a.Owner.Namespace), o.Granted(b.Owner.Namespace)),
	)
}

// resolveConflicts sets the condition Conflicted of listeners that cannot be distinguished (Envoy Gateway's
// translator design, Listener Compatibility; Gateway API, ListenerConditionConflicted). Conflicts are different
// protocols on one port (except HTTPS and TLS), a duplicate hostname on one port, or a duplicate name in an object.
// If both listeners are in one object, both are conflicted, unless one of them loses to an object with a better right
// (Order.compareRights). If they are in two objects, only the listener that comes later is conflicted. A listener that
// is conflicted or not accepted takes nothing from others.
//
// With the incumbents of its result, the function gives the same result again. Therefore a listener that loses to an
// object with the same right still conflicts with the others of its own object.
func resolveConflicts(listeners []*Listener, order Order) {
	ordered := listeners
	if objectsMeet(listeners) {
		ordered = slices.Clone(listeners)
		slices.SortStableFunc(ordered, order.compare)
	}
	own := map[manifest.Key][]*Listener{}
	for _, l := range listeners {
		own[l.Owner] = append(own[l.Owner], l)
	}
	all, better := newStanding(), newStanding()
	for begin, i := 0, 0; i < len(ordered); i++ {
		l := ordered[i]
		for ; order.compareRights(ordered[begin], l) < 0; begin++ {
			better.add(ordered[begin])
		}
		if l.Conflicted = better.conflict(l); l.Conflicted.Good() {
			l.Conflicted = better.conflictWithin(l, own[l.Owner])
		}
		if l.Accepted.Good() && l.Conflicted.Good() {
			l.Conflicted = all.conflict(l)
		}
		all.add(l)
	}
}

// objectsMeet reports whether listeners of different objects want one hostname of a port, or one port with different
// protocols.
func objectsMeet(listeners []*Listener) bool {
	first := newStanding()
	for _, l := range listeners {
		at, host := first.ports[l.Socket()], first.hosts[l.claim()]
		if host != nil && host.Owner != l.Owner || at != nil && at.Owner != l.Owner && family(at.Protocol) != family(l.Protocol) {
			return true
		}
		if at == nil {
			first.ports[l.Socket()] = l
		}
		first.hosts[l.claim()] = l
	}
	return false
}

// standing has the listeners that are accepted and have no conflict, so that listeners of later objects must not
// conflict with them. The map ports has the first of these listeners on each port; the others on the port have a
// protocol of the same family. The map hosts has all of these listeners, by port and hostname (see claim).
type standing struct {
	ports map[Socket]*Listener
	hosts map[Place]*Listener
}

func newStanding() standing { return standing{map[Socket]*Listener{}, map[Place]*Listener{}} }

// conflict returns why l cannot be distinguished from a listener of an earlier object. It returns the zero
// Verdict if there is no conflict.
func (s standing) conflict(l *Listener) manifest.Verdict[gwv1.ListenerConditionReason] {
	for _, before := range []*Listener{s.ports[l.Socket()], s.hosts[l.claim()]} {
		if before == nil {
			continue
		}
		if v := conflict(l, before); !v.Good() {
			return v
		}
	}
	return manifest.Verdict[gwv1.ListenerConditionReason]{}
}

// conflictWithin returns the conflict of l with another listener of its object (own). It ignores listeners that
// conflict with one of s. It returns the zero Verdict if there is no conflict.
func (s standing) conflictWithin(l *Listener, own []*Listener) (found manifest.Verdict[gwv1.ListenerConditionReason]) {
	for _, other := range own {
		if other != l && s.conflict(other).Good() {
			found = worse(found, conflict(l, other))
		}
	}
	return found
}

// add adds a listener if it is accepted and not conflicted.
func (s standing) add(l *Listener) {
	if !l.Accepted.Good() || !l.Conflicted.Good() {
		return
	}
	if s.ports[l.Socket()] == nil {
		s.ports[l.Socket()] = l
	}
	s.hosts[l.claim()] = l
}

// claim returns the port and hostname of the listener, as a Place. No two served listeners have the same port and
// hostname, so that the result can be a map key.
func (l *Listener) claim() Place {
	return Place{Port: l.Port, UDP: l.Socket().UDP, Domain: domain(l.Hostname)}
}

// worse returns the conflict to report if a listener has the two conflicts a and b. A conflict of protocols is
// more important than one of hostnames or names. If both are conflicts of protocols, worse returns b. If both are
// of hostnames or names, it returns a. If one of the two is no conflict (Good), it returns the other one.
func worse(a, b manifest.Verdict[gwv1.ListenerConditionReason]) manifest.Verdict[gwv1.ListenerConditionReason] {
	if b.Reason == gwv1.ListenerReasonProtocolConflict {
		return b
	}
	return cmp.Or(a, b)
}

// conflict returns why a listener cannot be distinguished from another one. It returns the zero Verdict if
// there is no conflict.
func conflict(l, other *Listener) manifest.Verdict[gwv1.ListenerConditionReason] {
	name := l.nameOf(other)
	switch {
	case l.Port != other.Port || layer(l.Protocol) != layer(other.Protocol):
	case l.Accepted.Reason == gwv1.ListenerReasonUnsupportedProtocol || other.Accepted.Reason == gwv1.ListenerReasonUnsupportedProtocol:
		// A listener with an unknown protocol uses no port, so it cannot conflict on one.
	case family(l.Protocol) != family(other.Protocol):
		return manifest.Because(gwv1.ListenerReasonProtocolConflict,
			fmt.Sprintf("%s has protocol %s on the same port %d", name, other.Protocol, other.Port))
	case takesPort(l.Protocol):
		return manifest.Because(reasonListenerConflict, fmt.Sprintf("%s has the same port %d and protocol %s", name, other.Port, other.Protocol))
	case l.Hostname == other.Hostname && l.Protocol != other.Protocol:
		return manifest.Because(gwv1.ListenerReasonHostnameConflict,
			fmt.Sprintf("%s, of protocol %s, has the same port %d and hostname %q", name, other.Protocol, other.Port, cmp.Or(other.Hostname, "*")))
	case l.Hostname == other.Hostname:
		return manifest.Because(gwv1.ListenerReasonHostnameConflict,
			fmt.Sprintf("%s has the same port %d, protocol and hostname %q", name, other.Port, cmp.Or(other.Hostname, "*")))
	}
	if l.Owner == other.Owner && l.Name == other.Name {
		return manifest.Because(reasonListenerConflict,
			"another listener here has the name "+l.Name)
	}
	return manifest.Verdict[gwv1.ListenerConditionReason]{}
}

// reasonListenerConflict is the reason of listeners that are in conflict by neither protocol nor hostname. The Gateway API
// has it for the entries of a ListenerSet, and no other one for the listeners of a Gateway.
const reasonListenerConflict = gwv1.ListenerConditionReason(gwv1.ListenerEntryReasonListenerConflict)

// conflictHint says what to do about the conflict of l.
func (l *Listener) conflictHint() string {
	switch {
	case l.Conflicted.Reason == gwv1.ListenerReasonHostnameConflict:
		return "give each listener of a port its own hostname; to add routes, attach them to the listener that has the hostname"
	case l.Conflicted.Reason == gwv1.ListenerReasonProtocolConflict:
		return "give one of them another port"
	case takesPort(l.Protocol):
		return "remove one of the two, or give it a port, and a name, of its own"
	}
	return "give one of the two another name"
}

// oddHint says what to do about a listener with another protocol than the others of its port, which have the protocol main.
func oddHint(main gwv1.ProtocolType) string {
	if takesPort(main) {
		return "give the listener another port"
	}
	return fmt.Sprintf("give the listener another port, or protocol %s and a hostname of its own", main)
}

// takesPort reports whether a listener of a protocol has its port alone: it has no hostname.
func takesPort(p gwv1.ProtocolType) bool {
	return p == gwv1.TCPProtocolType || p == gwv1.UDPProtocolType
}

// family returns the protocol that stands for the family of the protocol p. Protocols of one family can share a
// port if their listeners have different hostnames. HTTPS and TLS are one family (TLS), because Envoy distinguishes
// their listeners by the server name in the TLS handshake. Every other protocol is a family of its own.
func family(p gwv1.ProtocolType) gwv1.ProtocolType {
	if p == gwv1.HTTPSProtocolType {
		return gwv1.TLSProtocolType
	}
	return p
}

// layer returns "udp" or "tcp". Ports of different layers do not conflict.
func layer(p gwv1.ProtocolType) string {
	if p == gwv1.UDPProtocolType {
		return "udp"
	}
	return "tcp"
}

// reportConflicts adds one problem for each listener that the user must change. This is each listener with the
// condition Conflicted, with one exception: if one object has listeners of several protocol families on a port, the
// user must change only the smaller families. So a listener of the largest family (see mainProtocol) has no problem
// if the reason of its condition is ProtocolConflict.
func (g *Gateway) reportConflicts() {
	mixed := map[portOf][]*Listener{}
	for _, l := range g.Listeners {
		if l.Conflicted.Reason == gwv1.ListenerReasonProtocolConflict {
			at := portOf{l.Owner, l.Socket()}
			mixed[at] = append(mixed[at], l)
		}
	}
	for _, l := range g.Listeners {
		switch at := (portOf{l.Owner, l.Socket()}); {
		case l.Conflicted.Good():
		case len(mixed[at]) == 0 || l.Conflicted.Reason != gwv1.ListenerReasonProtocolConflict || ofOneFamily(mixed[at]):
			g.problemOf(l, string(l.Conflicted.Reason), l.field(), l.Conflicted.Message, l.conflictHint())
		case family(l.Protocol) != family(mainProtocol(mixed[at])):
			g.problemOf(l, string(l.Conflicted.Reason), l.field()+".protocol", oddProtocol(l, mixed[at]),
				oddHint(mainProtocol(mixed[at])))
		}
	}
}

// portOf identifies a port of the listeners of one object.
type portOf struct {
	owner manifest.Key
	Socket
}

// ofOneFamily reports whether the protocols of all listeners are of one family (see the function family).
func ofOneFamily(all []*Listener) bool {
	return !slices.ContainsFunc(all, func(l *Listener) bool { return family(l.Protocol) != family(all[0].Protocol) })
}

// mainProtocol returns the protocol that the listeners of a port should have. It finds the protocol family (see the
// function family) with the most listeners, and returns the protocol of the first listener in this family. If
// several families have equally many listeners, the family of the listener that comes first in the list counts.
func mainProtocol(all []*Listener) gwv1.ProtocolType {
	count := map[gwv1.ProtocolType]int{}
	for _, l := range all {
		count[family(l.Protocol)]++
	}
	main := all[0].Protocol
	for _, l := range all {
		if count[family(l.Protocol)] > count[family(main)] {
			main = l.Protocol
		}
	}
	return main
}

// oddProtocol returns the message of a problem: the protocol of the listener odd cannot share the port with the
// protocols of other listeners. The parameter all has the listeners of the port. The message names those of them
// whose protocol is of another family, but at most maxOwned.
func oddProtocol(odd *Listener, all []*Listener) string {
	var others []string
	for _, l := range all {
		if family(l.Protocol) == family(odd.Protocol) {
			continue
		}
		if len(others) == maxOwned {
			others = append(others, "and others")
			break
		}
		others = append(others, fmt.Sprintf("%s (%s)", l.Name, l.Protocol))
	}
	return fmt.Sprintf("the listener has protocol %s on port %d, where other listeners have another one: %s; none of them is served",
		odd.Protocol, odd.Port, strings.Join(others, ", "))
}
