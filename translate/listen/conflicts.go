package listen

import (
	"cmp"
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// resolveConflicts marks listeners that cannot be told apart (spec 004,
// Listener Compatibility; Gateway API, ListenerConditionConflicted): other
// protocols on one port, one hostname twice, or one name twice in an object. Inside
// one object both are marked; between objects the later one, and who is not accepted,
// or marked, takes nothing from those behind.
func resolveConflicts(listeners []*Listener) {
	standing := standing{map[Socket]*Listener{}, map[Place]*Listener{}}
	for begin := 0; begin < len(listeners); {
		end := begin
		for end < len(listeners) && listeners[end].Owner == listeners[begin].Owner {
			end++
		}
		own := listeners[begin:end]
		for _, l := range own {
			l.Conflicted = standing.conflict(l)
		}
		resolveWithin(own)
		standing.add(own)
		begin = end
	}
}

// standing are the listeners of earlier objects that hold their place: the first of
// each port, whose protocol the others have, and by hostname.
type standing struct {
	ports map[Socket]*Listener
	hosts map[Place]*Listener
}

func (s standing) conflict(l *Listener) Verdict[gwv1.ListenerConditionReason] {
	for _, before := range []*Listener{s.ports[l.socket()], s.hosts[l.claim()]} {
		if before == nil {
			continue
		}
		if v := conflict(l, before); !v.Good() {
			return v
		}
	}
	return Verdict[gwv1.ListenerConditionReason]{}
}

func (s standing) add(own []*Listener) {
	for _, l := range own {
		if !l.Accepted.Good() || !l.Conflicted.Good() {
			continue
		}
		if s.ports[l.socket()] == nil {
			s.ports[l.socket()] = l
		}
		s.hosts[l.claim()] = l
	}
}

// claim is what no other listener may have.
func (l *Listener) claim() Place {
	return Place{Port: l.Port, UDP: l.socket().UDP, Domain: domain(l.Hostname)}
}

// resolveWithin marks what conflicts inside one object; what lost to another object
// does not count.
func resolveWithin(own []*Listener) {
	own = slices.DeleteFunc(slices.Clone(own), func(l *Listener) bool { return !l.Conflicted.Good() })
	for _, a := range own {
		for _, b := range own {
			if a != b {
				a.Conflicted = worse(a.Conflicted, conflict(a, b))
			}
		}
	}
}

// worse prefers a conflict of protocols to one of hostnames, and the later to the
// earlier of its kind among protocols.
func worse(a, b Verdict[gwv1.ListenerConditionReason]) Verdict[gwv1.ListenerConditionReason] {
	if b.Reason == gwv1.ListenerReasonProtocolConflict {
		return b
	}
	return cmp.Or(a, b)
}

// conflict says why a listener cannot be told apart from another one.
func conflict(l, other *Listener) Verdict[gwv1.ListenerConditionReason] {
	name := "listener " + other.Name
	if l.Owner != other.Owner {
		name += " of " + other.Owner.String()
	}
	switch {
	case l.Port != other.Port || layer(l.Protocol) != layer(other.Protocol):
	case l.Accepted.Reason == gwv1.ListenerReasonUnsupportedProtocol || other.Accepted.Reason == gwv1.ListenerReasonUnsupportedProtocol:
		// A protocol that nobody serves takes no port: a slip in it hurts its own listener alone.
	case family(l.Protocol) != family(other.Protocol):
		return Verdict[gwv1.ListenerConditionReason]{gwv1.ListenerReasonProtocolConflict,
			fmt.Sprintf("%s has protocol %s on the same port %d", name, other.Protocol, other.Port)}
	case l.Hostname == other.Hostname && l.Protocol != other.Protocol:
		return Verdict[gwv1.ListenerConditionReason]{gwv1.ListenerReasonHostnameConflict,
			fmt.Sprintf("%s, of protocol %s, has the same port %d and hostname %q", name, other.Protocol, other.Port, cmp.Or(other.Hostname, "*"))}
	case l.Hostname == other.Hostname:
		return Verdict[gwv1.ListenerConditionReason]{gwv1.ListenerReasonHostnameConflict,
			fmt.Sprintf("%s has the same port %d, protocol and hostname %q", name, other.Port, cmp.Or(other.Hostname, "*"))}
	}
	if l.Owner == other.Owner && l.Name == other.Name {
		return Verdict[gwv1.ListenerConditionReason]{gwv1.ListenerConditionReason(gwv1.ListenerEntryReasonListenerConflict),
			"another listener here has the name " + l.Name}
	}
	return Verdict[gwv1.ListenerConditionReason]{}
}

// family names protocols that share a port where the hostnames differ: HTTPS and TLS
// both go by the name in the handshake.
func family(p gwv1.ProtocolType) gwv1.ProtocolType {
	if p == gwv1.HTTPSProtocolType {
		return gwv1.TLSProtocolType
	}
	return p
}

// layer tells UDP ports from TCP ports.
func layer(p gwv1.ProtocolType) string {
	if p == gwv1.UDPProtocolType {
		return "udp"
	}
	return "tcp"
}

func (g *Gateway) reportConflicts() {
	for _, l := range g.Listeners {
		if !l.Conflicted.Good() {
			g.problemOf(l, string(l.Conflicted.Reason), l.field(), l.Conflicted.Message,
				"give each listener of a port its own hostname, and one protocol to a port")
		}
	}
}
