package xds

import (
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Field numbers of envoy.config.listener.v3 that are read by hand.
const (
	listenerAddress             protowire.Number = 2
	listenerReusePort           protowire.Number = 29
	listenerAdditionalAddresses protowire.Number = 33
	chainMatch                  protowire.Number = 1
	chainMatchServerNames       protowire.Number = 11
)

// Socket is an address with a port that a listener binds.
type Socket struct {
	netip.AddrPort
	UDP bool
}

// All returns the socket with the same port and protocol at the unspecified address (0.0.0.0 or "::"), which stands
// for all addresses of the same family.
func (s Socket) All() Socket {
	all := netip.IPv4Unspecified()
	if s.Addr().Is6() {
		all = netip.IPv6Unspecified()
	}
	return Socket{netip.AddrPortFrom(all, s.Port()), s.UDP}
}

// Binding is the set of sockets (addresses with ports) that a listener binds.
type Binding struct {
	Sockets []Socket
	// Exclusive is true if the listener has enable_reuse_port false. On one port, 0.0.0.0 (or "::") and another
	// address of the same family then cannot both be bound, not even by one Envoy.
	Exclusive bool
	// ServerNames are the hostnames by which a TLS handshake selects the filter chains of the listener. A filter chain
	// for all other connections, or for connections without TLS, has "*".
	ServerNames []string
}

// BindingOf returns the sockets that an encoded listener binds, and the server names of its filter chains. Addresses that BindingOf cannot read are left out. If
// it cannot read the listener, the result is empty.
func BindingOf(listener []byte) Binding {
	var out Binding
	readable := tryFields(listener, func(number protowire.Number, _, value []byte) {
		switch number {
		case listenerAddress:
			out.add(value)
		case listenerAdditionalAddresses:
			_, _, tag := protowire.ConsumeTag(value)
			if inner, n := protowire.ConsumeBytes(value[max(tag, 0):]); n >= 0 {
				out.add(inner)
			}
		case listenerReusePort:
			out.Exclusive = len(value) == 0 // a BoolValue of false
		case listenerChains:
			out.ServerNames = append(out.ServerNames, serverNames(value)...)
		}
	})
	if !readable {
		return Binding{}
	}
	return out
}

// serverNames returns the server names of an encoded filter chain, "*" if it has none.
func serverNames(chain []byte) (names []string) {
	tryFields(chain, func(number protowire.Number, _, match []byte) {
		if number != chainMatch {
			return
		}
		tryFields(match, func(number protowire.Number, _, name []byte) {
			if number == chainMatchServerNames {
				names = append(names, string(name))
			}
		})
	})
	if len(names) == 0 {
		return []string{"*"}
	}
	return names
}

// add adds the socket of an encoded envoy.config.core.v3.Address, if it can be read.
func (b *Binding) add(address []byte) {
	var message corev3.Address
	if proto.Unmarshal(address, &message) != nil {
		return
	}
	at := message.GetSocketAddress()
	if ip, err := netip.ParseAddr(at.GetAddress()); err == nil {
		b.Sockets = append(b.Sockets, Socket{netip.AddrPortFrom(ip, uint16(at.GetPortValue())), at.GetProtocol() == corev3.SocketAddress_UDP})
	}
}
