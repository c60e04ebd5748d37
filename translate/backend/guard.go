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

// Guard says which endpoints requests must not be sent to (design section 10):
// the addresses that clouds give credentials out at, and those that gatefold and
// Envoys are steered by. A route to one would hand them to whoever may send a
// request. Its zero value refuses the former. It judges what is written: what a
// DNS name leads to is not known.
type Guard struct {
	// Refuse and Allow name endpoints; where both do, Allow holds.
	Refuse, Allow []Endpoints
}

// Endpoints are all ports of a network, or one port of a host.
type Endpoints struct {
	network netip.Prefix
	name    string // of a host that is no address
	port    uint32 // 0 is every port
}

// metadata are the addresses that clouds tell machines their credentials at: all
// of 169.254.0.0/16 (AWS, Azure, GCP and others; ECS, EKS), and those of IPv6
// (AWS, GCP).
func metadata() []Endpoints {
	return []Endpoints{
		{network: netip.MustParsePrefix("169.254.0.0/16")},
		{network: netip.MustParsePrefix("fd00:ec2::/32")},
		{network: netip.MustParsePrefix("fd20:ce::254/128")},
		{name: "metadata.google.internal"},
		{name: "instance-data.ec2.internal"},
	}
}

// ParseEndpoints reads a network as CIDR, an address, or HOST:PORT.
func ParseEndpoints(text string) (Endpoints, error) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return Endpoints{network: network.Masked()}, nil
	}
	if address, err := netip.ParseAddr(text); err == nil {
		return Endpoints{network: netip.PrefixFrom(plain(address), plain(address).BitLen())}, nil
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

// Sift takes the endpoints out of a cluster that must not be used, and gives them.
func (g *Guard) Sift(cluster *ir.Cluster) []ir.Endpoint {
	var refused []ir.Endpoint
	list := append(metadata(), g.Refuse...)
	for _, endpoint := range cluster.Endpoints {
		if at := spotOf(endpoint); at.among(list) && !at.among(g.Allow) {
			refused = append(refused, endpoint)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	cluster.Endpoints = slices.DeleteFunc(slices.Clone(cluster.Endpoints), func(e ir.Endpoint) bool { return slices.Contains(refused, e) })
	if len(cluster.Endpoints) == 0 && cluster.Discovery == ir.DNS {
		cluster.Discovery = ir.Static // there is no name to look up
	}
	return refused
}

// spot is an endpoint as it is compared: by address where it has one, else by name.
type spot struct {
	address netip.Addr
	name    string
	port    uint32
}

func spotOf(e ir.Endpoint) spot {
	if address, ok := addressOf(e.Host); ok {
		return spot{address: address, port: e.Port}
	}
	return spot{name: canonical(e.Host), port: e.Port}
}

// among tells whether the list names the endpoint.
func (s spot) among(list []Endpoints) bool { return slices.ContainsFunc(list, s.of) }

// of tells whether the endpoint is one of e. One port of this machine is the same
// at every address that leads back to it.
func (s spot) of(e Endpoints) bool {
	if e.port != 0 && e.port != s.port || e.name != s.name {
		return false
	}
	return s.name != "" || e.network.Contains(s.address) || e.port != 0 && own(e.network.Addr()) && own(s.address)
}

// own tells whether the address leads back to the machine itself.
func own(a netip.Addr) bool { return a.IsLoopback() || a.IsUnspecified() }

// canonical is a DNS name without what makes no difference.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// addressOf gives the address that a host is, in every form that a resolver takes
// for one: localhost, and numbers as inet_aton reads them, too.
func addressOf(host string) (netip.Addr, bool) {
	host = canonical(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "localhost.localdomain" || host == "ip6-localhost" {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return plain(address), true
	}
	return numeric(host)
}

// plain gives the IPv4 address that an IPv6 one stands for: mapped, or
// translated (RFC 6052).
func plain(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if nat64 := netip.MustParsePrefix("64:ff9b::/96"); nat64.Contains(a) {
		bytes := a.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return a
}

// numeric reads one to four numbers, decimal, octal or hexadecimal, of which the
// last fills the address: 2130706433, 0x7f.1, 127.1, 0177.0.0.1.
func numeric(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		if err != nil || strings.ContainsAny(part, "_box") && !strings.HasPrefix(part, "0x") {
			return netip.Addr{}, false
		}
		if i == len(parts)-1 {
			sum = sum<<(8*(5-len(parts))) | n
		} else {
			sum = sum<<8 | n
		}
		if room := 8 * (4 - min(i, 3)); i < len(parts)-1 && n > 255 || i == len(parts)-1 && n >= 1<<room {
			return netip.Addr{}, false
		}
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// HostField is the field of a Backend that names an endpoint, "" for none.
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

// SliceField is the field of an EndpointSlice that names an address, "" for none.
func SliceField(slice *discoveryv1.EndpointSlice, address string) string {
	if slice == nil {
		return ""
	}
	for i, endpoint := range slice.Endpoints {
		if j := slices.Index(endpoint.Addresses, address); j >= 0 {
			return fmt.Sprintf("endpoints[%d].addresses[%d]", i, j)
		}
	}
	return ""
}
