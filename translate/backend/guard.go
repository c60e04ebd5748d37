package backend

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// Guard decides which endpoints must not get requests (docs/design/safety.md): the addresses at which clouds
// provide credentials, and the addresses through which gatefold and Envoys are controlled. A route to such an
// address would open it to everyone who may send a request. The zero value rejects only the addresses of
// clouds. Guard checks addresses as they are written. It does not resolve DNS names, because Envoy resolves
// names itself, and repeatedly.
type Guard struct {
	// Refuse are endpoints that must not get requests, in addition to the addresses of clouds. Allow are exceptions:
	// an endpoint in Allow is always allowed.
	Refuse, Allow []Endpoints
	// Hosts are names of this machine that resolve without DNS (see ReadHosts), in lower case and without a final
	// dot.
	Hosts map[string][]netip.Addr
	// Machine are the addresses of this machine, where listeners on all interfaces are reached.
	Machine []netip.Addr
}

// Endpoints are all ports or one port of a network or of a host.
type Endpoints struct {
	network netip.Prefix
	name    string // the name of a host, if the host is not an address
	port    uint32 // 0 means every port
}

// ParseEndpoints parses a CIDR, an address, or HOST:PORT. For an empty HOST, it takes 0.0.0.0. It returns an error
// for other texts, and for port 0.
func ParseEndpoints(text string) (Endpoints, error) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return Endpoints{network: network.Masked()}, nil
	}
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.WithZone("").Unmap()
		return Endpoints{network: netip.PrefixFrom(address, address.BitLen())}, nil
	}
	host, portText, err := net.SplitHostPort(text)
	port, portErr := strconv.ParseUint(portText, 10, 16)
	if err != nil || portErr != nil || port == 0 {
		return Endpoints{}, fmt.Errorf("%q is no network, address or HOST:PORT, such as 10.0.0.0/8, 10.0.0.1 or 127.0.0.1:9901", text)
	}
	e := Endpoints{port: uint32(port)}
	if address, ok := addressOf(host); ok || host == "" {
		if host == "" {
			address = netip.IPv4Unspecified()
		}
		e.network = netip.PrefixFrom(address, address.BitLen())
	} else {
		e.name = canonical(host)
	}
	return e, nil
}

// MarshalText returns a text from which ParseEndpoints reads e again. The Endpoints e must be a result of
// ParseEndpoints.
func (e Endpoints) MarshalText() ([]byte, error) {
	port := strconv.FormatUint(uint64(e.port), 10)
	switch {
	case e.name != "":
		return []byte(net.JoinHostPort(e.name, port)), nil
	case e.port != 0:
		return []byte(net.JoinHostPort(e.network.Addr().String(), port)), nil
	}
	return []byte(e.network.String()), nil
}

// UnmarshalText sets e to the endpoints of a text, as ParseEndpoints returns them. It returns an error for
// other texts.
func (e *Endpoints) UnmarshalText(text []byte) (err error) {
	*e, err = ParseEndpoints(string(text))
	return err
}

// RemoveRefused removes from a cluster the endpoints that must not get requests. It returns the removed endpoints,
// or nil if there are none.
func (g *Guard) RemoveRefused(cluster *ir.Cluster) []ir.Endpoint {
	list := append(metadata(), g.Refuse...)
	return Remove(cluster, func(endpoint ir.Endpoint) bool {
		at := g.spotOf(endpoint)
		return at.among(list) && !at.among(g.Allow)
	})
}

// Remove removes from a cluster the endpoints that a function refuses, and returns them. If a cluster for DNS has no
// endpoint left, its Discovery becomes ir.Static.
func Remove(cluster *ir.Cluster, refuse func(ir.Endpoint) bool) []ir.Endpoint {
	var kept, refused []ir.Endpoint
	for _, endpoint := range cluster.Endpoints {
		if refuse(endpoint) {
			refused = append(refused, endpoint)
		} else {
			kept = append(kept, endpoint)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	cluster.Endpoints = kept
	if len(kept) == 0 && cluster.Discovery == ir.DNS {
		cluster.Discovery = ir.Static // no endpoint with a DNS name is left
	}
	return refused
}

// spot is the destination of an endpoint, in a form that Guard can compare with the lists Refuse and Allow. It has
// the port, and all IP addresses that Guard knows for the endpoint's host. If the host is a DNS name, the field
// name is that name.
type spot struct {
	addresses []netip.Addr
	name      string
	port      uint32
}

// spotOf returns where an endpoint leads (see spot). A DNS name also has the addresses in g.Hosts.
func (g *Guard) spotOf(e ir.Endpoint) spot {
	if address, ok := addressOf(e.Host); ok {
		return spot{addresses: readings(address), port: e.Port}
	}
	at := spot{name: canonical(e.Host), port: e.Port}
	for _, address := range g.Hosts[at.name] {
		at.addresses = append(at.addresses, readings(address)...)
	}
	return at
}

// among reports whether one of the elements in the list includes the destination s.
func (s spot) among(list []Endpoints) bool { return slices.ContainsFunc(list, s.of) }

// of reports whether the Endpoints e include the destination s. All these conditions must hold:
//   - If e has a port, s has the same port.
//   - If e has a DNS name, s has the same name.
//   - If e has no DNS name, one of the addresses of s is in the network of e. There is one exception: if e has a
//     port, and a loopback or unspecified address, then any loopback or unspecified address of s is enough.
func (s spot) of(e Endpoints) bool {
	switch {
	case e.port != 0 && e.port != s.port:
		return false
	case e.name != "":
		return e.name == s.name
	}
	return slices.ContainsFunc(s.addresses, func(a netip.Addr) bool {
		return e.network.Contains(a) || e.port != 0 && own(e.network.Addr()) && own(a)
	})
}

// own reports whether an address belongs to the machine itself: a loopback address, or the unspecified address
// (0.0.0.0 or ::).
func own(a netip.Addr) bool { return a.IsLoopback() || a.IsUnspecified() }

// canonical returns a DNS name in lower case and without a dot at its end.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// HostField returns the path of the field of a Backend that contains an endpoint, or "" if no field does.
func HostField(b *api.Backend, endpoint ir.Endpoint) string {
	if b.Spec.Static == nil {
		return ""
	}
	for i, host := range b.Spec.Static.Hosts {
		if host.Host == endpoint.Host && uint32(host.Port) == endpoint.Port {
			return fmt.Sprintf("spec.static.hosts[%d].host", i)
		}
	}
	return ""
}

// SliceField returns the path of the field of an EndpointSlice that contains an endpoint, or "" if no field does. The
// parameter slice may be nil.
func SliceField(slice *discoveryv1.EndpointSlice, e ir.Endpoint) string {
	if slice == nil || !slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return uint32(zero(p.Port)) == e.Port }) {
		return ""
	}
	for i, endpoint := range slice.Endpoints {
		if j := slices.Index(endpoint.Addresses, e.Host); j >= 0 {
			return fmt.Sprintf("endpoints[%d].addresses[%d]", i, j)
		}
	}
	return ""
}
