package listen

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// Claim is the request of one Gateway to bind one port. If several Gateways claim a port, CompareClaims decides
// which Gateway comes first.
type Claim struct {
	Origin *ir.Origin // the rank of the first served listener on the port
	// Set is true if no listener on the port is the Gateway's own: all are of ListenerSets.
	Set       bool
	Name      string // of the Gateway
	Addresses []string
}

// CompareClaims orders claims: first those of the platform team (the flag --cluster-paths), then those with a listener
// of the Gateway itself, then by the conflict resolution order. Holders puts incumbents before the last criterion.
func CompareClaims(a, b *Claim) int {
	return cmp.Or(compareOwners(a, b), route.CompareOrigins(a.Origin, b.Origin))
}

func compareOwners(a, b *Claim) int {
	return cmp.Or(ir.TrueFirst(!a.Origin.Outside, !b.Origin.Outside), ir.TrueFirst(!a.Set, !b.Set))
}

// Socket is a TCP or UDP port. A TCP and a UDP port with the same number do not conflict.
type Socket struct {
	Port int32
	UDP  bool
}

// String returns the port number, with "/udp" after it for UDP.
func (s Socket) String() string {
	if s.UDP {
		return fmt.Sprintf("%d/udp", s.Port)
	}
	return fmt.Sprint(s.Port)
}

// Socket returns the port that the listener binds.
func (l *Listener) Socket() Socket { return Socket{l.Port, l.Protocol == gwv1.UDPProtocolType} }

// Claims returns a Claim for each port that the Gateway wants to bind. If several Gateways claim a port,
// CompareClaims orders the Claims by Origin (mainly by age). A Claim gets its Origin from the first served listener
// on the port. For a listener of the Gateway itself, this is the Origin of the Gateway. For a listener of a
// ListenerSet, this is the Origin of the Gateway or of the ListenerSet, whichever comes later. So a ListenerSet that
// is younger than another Gateway takes no port from that Gateway.
func (g *Gateway) Claims() map[Socket]*Claim {
	claims := map[Socket]*Claim{}
	for _, l := range g.Listeners {
		if _, asked := claims[l.Socket()]; l.Serves() && !asked {
			claims[l.Socket()] = &Claim{Origin: l.rank, Set: l.Owner != g.Origin.Key, Name: g.Name, Addresses: g.Addresses}
		}
	}
	return claims
}

// Listening is a port that a Gateway binds.
type Listening struct {
	Gateway manifest.Key
	// Outside is that of the Gateway's ir.Origin: its file is outside of cluster paths.
	Outside   bool
	Addresses []string
	// Listener is the name of the first listener on the port.
	Listener string
}

// CompareListening orders by the key of the Gateway.
func CompareListening(a, b *Listening) int { return manifest.CompareKeys(a.Gateway, b.Gateway) }

// Listening returns the ports that the Gateway binds. It is nil for a Gateway that cannot be served.
func (g *Gateway) Listening() map[Socket]*Listening {
	if !g.Unusable.Good() {
		return nil
	}
	all := map[Socket]*Listening{}
	for _, l := range g.Listeners {
		if _, known := all[l.Socket()]; l.Serves() && !known {
			all[l.Socket()] = &Listening{Gateway: g.Origin.Key, Outside: g.Origin.Outside, Addresses: g.Addresses, Listener: l.Name}
		}
	}
	return all
}

// Holders decides which Gateways bind a port that several Gateways claim. The keys of the result are the names of
// the Gateways that cannot bind the port. The value is the name of the Gateway that already binds one of the same
// addresses. The parameter claims has all claims to the port, in the order of CompareClaims. The function had reports
// whether a Gateway is the incumbent (see route.Rank.Incumbent): of two claims that differ only by age or name, that of
// the incumbent gets the port. Holders calls it only if two Gateways claim one address.
func Holders(claims []*Claim, had func(*Claim) bool) map[string]string {
	losers := firstBinds(claims)
	if len(losers) == 0 {
		return losers
	}
	incumbent := map[*Claim]bool{}
	for _, claim := range claims {
		incumbent[claim] = had(claim)
	}
	slices.SortStableFunc(claims, func(a, b *Claim) int {
		return cmp.Or(compareOwners(a, b), ir.TrueFirst(incumbent[a], incumbent[b]))
	})
	return firstBinds(claims)
}

// firstBinds returns the result of Holders if each claim goes before the later ones in the list.
func firstBinds(claims []*Claim) map[string]string {
	holders := map[string]string{}
	bound := bindings{byAddress: map[string]string{}}
	for _, claim := range claims {
		if by := bound.holder(claim.Addresses); by != "" {
			holders[claim.Name] = by
		} else {
			bound.bind(claim)
		}
	}
	return holders
}

// bindings are the Gateways that bind one port. The map byAddress has the Gateway of each address. The field all
// is the Gateway that binds all addresses, by 0.0.0.0 or ::. The field first is the first Gateway that binds any
// address.
type bindings struct {
	byAddress  map[string]string
	all, first string
}

// holder returns the name of a Gateway that already binds one of the addresses. It returns "" if all of the
// addresses are free.
func (b *bindings) holder(addresses []string) string {
	for _, address := range addresses {
		by := cmp.Or(b.all, b.byAddress[address])
		if unspecified(address) {
			by = b.first
		}
		if by != "" {
			return by
		}
	}
	return ""
}

// bind records that the Gateway of the claim binds its addresses.
func (b *bindings) bind(claim *Claim) {
	for _, address := range claim.Addresses {
		b.first = cmp.Or(b.first, claim.Name)
		b.byAddress[address] = claim.Name
		if unspecified(address) {
			b.all = claim.Name
		}
	}
}

// unspecified reports whether an address is 0.0.0.0 or ::.
func unspecified(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.IsUnspecified()
}

// WithHolders returns a copy of the Gateway in which listeners are not served if another Gateway binds their port, or
// if they would take a host from another namespace. Each of these listeners has a problem. The function holder returns
// the name of the other Gateway that binds a port, or "" if there is none. The function taking returns the reason why a
// listener may not have its host, or nil. The function against returns why a listener must accept no connections, or ""
// (see closePorts). WithHolders also sets the fields hosts and shared of the copy (see indexHosts).
func (g *Gateway) WithHolders(holder func(Socket) string, taking func(*Listener) *Taking, against func(*Listener) string) *Gateway {
	out := *g
	out.Listeners = nil
	out.Problems = slices.Clone(g.Problems)
	for _, l := range g.Listeners {
		if by := holder(l.Socket()); l.Serves() && by != "" {
			copied := *l
			copied.Taken = manifest.Because(gwv1.ListenerReasonPortUnavailable,
				fmt.Sprintf("port %d is held by Gateway %s", l.Port, by))
			out.problemOf(l, "AddressNotUsable", l.field()+".port", copied.Taken.Message,
				"take another port, or another address in spec.addresses")
			l = &copied
		}
		if l.Serves() {
			if t := taking(l); t != nil {
				copied := *l
				copied.Conflicted = manifest.Because(gwv1.ListenerReasonHostnameConflict, t.Message)
				out.problemOf(l, string(gwv1.ListenerReasonHostnameConflict), l.field()+".hostname", "the listener is not served: "+t.Message, t.Hint)
				l = &copied
			}
		}
		out.Listeners = append(out.Listeners, l)
	}
	out.closePorts(against)
	out.indexHosts()
	return &out
}

// closePorts stops listeners that must accept no connections, if no other listener has their port. On a shared port, a
// listener without its host would leave the host to a wider one; there, the hosts of such a listener answer 500, as the
// targets of all policies do that cannot be used.
func (g *Gateway) closePorts(against func(*Listener) string) {
	reasons, open := map[*Listener]string{}, map[Socket]bool{}
	for _, l := range g.Listeners {
		if !l.Serves() {
			continue
		}
		if why := against(l); why != "" {
			reasons[l] = why
		} else {
			open[l.Socket()] = true
		}
	}
	for i, l := range g.Listeners {
		if why := reasons[l]; why != "" && !open[l.Socket()] {
			copied := *l
			copied.Taken = manifest.Because(gwv1.ListenerReasonInvalid, why)
			g.Listeners[i] = &copied
		}
	}
}

// Binds reports whether the Gateway has a port on all of the addresses. The result is false for a nil Gateway.
func (g *Gateway) Binds(at Socket, addresses []string) bool {
	if g == nil || !g.Unusable.Good() || slices.ContainsFunc(addresses, func(a string) bool { return !slices.Contains(g.Addresses, a) }) {
		return false
	}
	return slices.ContainsFunc(g.Listeners, func(l *Listener) bool {
		return l.Socket() == at && l.Accepted.Good() && l.Taken.Good() && l.Certified()
	})
}

// Has reports whether the Gateway has a listener with the owner, port and hostname of l that is not conflicted. Such a
// listener has its hostname even if it is not served for another reason. The result is false for a nil Gateway.
func (g *Gateway) Has(l *Listener) bool {
	return g != nil && slices.ContainsFunc(g.ListenersOf(l.Owner), func(had *Listener) bool {
		return had.claim() == l.claim() && had.Accepted.Good() && had.Conflicted.Good()
	})
}

// Ports returns the Envoy listeners of the Gateway, one for each port, sorted. It returns nil if the Gateway
// cannot be served, or serves no listener.
func (g *Gateway) Ports() []*ir.Port {
	var ports []*ir.Port
	if !g.Unusable.Good() || len(g.Addresses) == 0 {
		return nil
	}
	for at := range g.Claims() {
		port := &ir.Port{Gateway: g.Name, Addresses: g.Addresses, Port: uint32(at.Port), UDP: at.UDP, Settings: g.Settings}
		g.fill(port, at)
		ports = append(ports, port)
	}
	slices.SortFunc(ports, func(a, b *ir.Port) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Name, b.Name))
	})
	return ports
}

// fill adds the Gateway's served listeners on one socket (the parameter at) to an ir.Port. All HTTP listeners share
// one filter chain. Each HTTPS listener has its own chain, because no two HTTPS listeners have the same hostname.
// TCP, UDP and TLS listeners become ir.Streams without routes.
func (g *Gateway) fill(port *ir.Port, at Socket) {
	for _, l := range g.Listeners {
		if !l.Serves() || l.Socket() != at {
			continue
		}
		port.Listeners = append(port.Listeners, ir.Listener{Name: l.Name, Hostname: l.Hostname, Object: l.Owner, Index: l.Index})
		chain := l.chain()
		port.Name = PortName(g.Name, l.Port, l.Protocol)
		switch {
		case !l.SpeaksHTTP():
			port.Streams = append(port.Streams, l.stream())
		case chain != "" || len(port.Chains) == 0:
			port.Chains = append(port.Chains, ir.Chain{Name: chain, RouteConfig: RoutesName(g.Name, l.Port, chain, l.TLS.Clients), TLS: l.terminate()})
		}
	}
	slices.SortFunc(port.Chains, func(a, b ir.Chain) int { return cmp.Compare(a.Name, b.Name) })
}

// PortName returns the name of the Envoy listener for a port. protocol is that of the listeners on the port.
// HTTPS and TLS lead to the same name, because they share a port. So Envoy does not replace its listener when
// an HTTPS listener is added to a TLS listener.
func PortName(gateway string, port int32, protocol gwv1.ProtocolType) string {
	word := ""
	switch protocol {
	case gwv1.HTTPProtocolType:
		word = "http"
	case gwv1.HTTPSProtocolType, gwv1.TLSProtocolType:
		word = "https"
	case gwv1.TCPProtocolType:
		word = "tcp"
	case gwv1.UDPProtocolType:
		word = "udp"
	}
	return gateway + "/" + word + "-" + strconv.Itoa(int(port))
}

// RoutesName returns the name of the RouteConfiguration for a filter chain of a Gateway's port. The parameter chain
// is the chain's name for HTTPS, and "" for HTTP. The parameter clients is how the port verifies client certificates,
// nil if it does not. It is part of the name, so that connections from before a stricter verification do not use the
// RouteConfiguration of those after it. The name ends with the current version of the HTTP filters
// (ir.FilterGeneration).
func RoutesName(gateway string, port int32, chain string, clients *ir.Clients) string {
	base := PortName(gateway, port, gwv1.HTTPProtocolType)
	if chain != "" {
		base = PortName(gateway, port, gwv1.HTTPSProtocolType) + "/" + chain
	}
	if chain != "" && clients != nil {
		sum := sha256.Sum256(fmt.Appendf(nil, "%t %s", clients.Insecure, clients.Trust))
		base += "/clients-" + hex.EncodeToString(sum[:8])
	}
	return ir.TableName(base, ir.FilterGeneration)
}
