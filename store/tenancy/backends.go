package tenancy

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
)

// maxBackends is how many entries an annotation may have: each endpoint is compared with each entry.
const maxBackends = 256

// Backends are the endpoints to which objects of a namespace may have requests sent.
type Backends []BackendRange

// BackendRange is a network or a name, with a range of ports.
type BackendRange struct {
	// Network is a network or one address. It is not valid if Name is set.
	Network netip.Prefix
	// Name is a DNS name in lower case, or a wildcard such as "*.svc.example" for all names below svc.example.
	Name string
	// Ports are the allowed ports. The zero value means every port.
	Ports PortRange
}

// ParseBackends parses networks, addresses and names that are separated by commas, spaces or line breaks, each with an
// optional port or range of ports, such as "10.3.0.0/16:8000-8999, [fd00::/8]:443, *.svc.example". The error says which
// entry is invalid, and what to write.
func ParseBackends(text string) (Backends, error) {
	list, err := entries(strings.ToLower(text), `networks, addresses and names, such as "10.3.0.0/16:8000-8999, [fd00::/8]:443, *.svc.example"`)
	if err != nil {
		return nil, err
	}
	if len(list) > maxBackends {
		return nil, fmt.Errorf("%d entries are more than %d: write networks, or a wildcard such as *.svc.example", len(list), maxBackends)
	}
	all := make(Backends, len(list))
	for i, entry := range list {
		if err := all[i].parse(entry); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// parse sets b to what an entry says.
func (b *BackendRange) parse(entry string) error {
	host, ports, err := splitPorts(entry)
	if err != nil {
		return err
	}
	if ports != "" {
		if err := b.Ports.parse(ports); err != nil {
			return fmt.Errorf("%q: %w", entry, err)
		}
	}
	if address, err := netip.ParseAddr(host); err == nil {
		if address.Zone() != "" || address.Is4In6() {
			return fmt.Errorf("%q: write the address without a zone, and an IPv4 address as such", entry)
		}
		b.Network = netip.PrefixFrom(address, address.BitLen())
		return nil
	}
	if strings.Contains(host, "/") {
		return b.parseNetwork(entry, host)
	}
	if !manifest.IsEndpointName(strings.TrimPrefix(host, "*.")) || strings.Trim(host[strings.LastIndex(host, ".")+1:], "0123456789") == "" {
		return fmt.Errorf("%q is no network, address or name: write one such as 10.3.0.0/16, [fd00::/8]:443, db.example or *.svc.example:8080", entry)
	}
	b.Name = host
	return nil
}

// parseNetwork sets b.Network to the network of an entry (host).
func (b *BackendRange) parseNetwork(entry, host string) error {
	network, err := netip.ParsePrefix(host)
	switch {
	case err != nil || network.Addr().Is4In6():
		return fmt.Errorf("%q is not a network: write one such as 10.3.0.0/16 or [fd00::/8]:443", entry)
	case network != network.Masked():
		return fmt.Errorf("%q has bits behind its length: write %s", entry, network.Masked())
	}
	b.Network = network
	return nil
}

// splitPorts returns the host of an entry, and its ports or "". An IPv6 address or network with ports is in brackets.
func splitPorts(entry string) (host, ports string, err error) {
	if inside, bracket := strings.CutPrefix(entry, "["); bracket {
		host, rest, closed := strings.Cut(inside, "]")
		ports, colon := strings.CutPrefix(rest, ":")
		if !closed || !strings.Contains(host, ":") || rest != "" && (!colon || ports == "") {
			return "", "", fmt.Errorf("%q: brackets are for IPv6, with a port behind them: write [fd00::/8]:443", entry)
		}
		return host, ports, nil
	}
	if strings.Count(entry, ":") > 1 {
		return entry, "", nil // IPv6 without ports
	}
	host, ports, colon := strings.Cut(entry, ":")
	if colon && ports == "" {
		return "", "", fmt.Errorf("%q has no port behind the colon: write one, or leave out the colon", entry)
	}
	return host, ports, nil
}

// Has reports whether an endpoint is one of b. The parameter name is a DNS name in lower case without a final dot, or
// "". The parameter addresses has all addresses that the endpoint is known to have. An endpoint with a name that is not
// in b is one of b if all its addresses are.
func (b Backends) Has(name string, addresses []netip.Addr, port uint32) bool {
	if name != "" && slices.ContainsFunc(b, func(r BackendRange) bool { return r.hasPort(port) && r.hasName(name) }) {
		return true
	}
	return len(addresses) > 0 && !slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		return !slices.ContainsFunc(b, func(r BackendRange) bool { return r.hasPort(port) && r.Network.IsValid() && r.Network.Contains(a) })
	})
}

func (b BackendRange) hasPort(port uint32) bool {
	return b.Ports == PortRange{} || uint32(b.Ports.First) <= port && port <= uint32(b.Ports.Last)
}

// hasName reports whether a DNS name is that of b, or lies below its wildcard.
func (b BackendRange) hasName(name string) bool {
	return b.Name != "" && scope.CoversHost(b.Name, name)
}

// String returns the entries in a form that ParseBackends can read.
func (b Backends) String() string {
	var all []string
	for _, r := range b {
		host := r.Name
		if r.Network.IsValid() {
			host = strings.TrimSuffix(r.Network.String(), "/"+strconv.Itoa(r.Network.Addr().BitLen()))
		}
		if r.Ports != (PortRange{}) {
			if strings.Contains(host, ":") {
				host = "[" + host + "]"
			}
			host += ":" + Ports{r.Ports}.String()
		}
		all = append(all, host)
	}
	return strings.Join(all, ", ")
}
