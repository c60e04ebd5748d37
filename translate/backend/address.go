package backend

import (
	"net/netip"
	"strconv"
	"strings"
)

// metadata returns the addresses and names at which clouds provide credentials to machines. All link-local
// addresses are in the list: 169.254.0.0/16 (AWS, Azure, GCP, ECS, EKS and others) and fe80::/10 (OpenStack).
func metadata() []Endpoints {
	var list []Endpoints
	for _, network := range []string{
		"169.254.0.0/16", "fe80::/10",
		"fd00:ec2::/32",          // AWS
		"fd20:ce::254/128",       // GCP
		"fd00:c1::a9fe:a9fe/128", // Oracle
		"fd00:42::42/128",        // Scaleway
		"168.63.129.16/32",       // Azure's wire server
		"100.100.100.200/32",     // Alibaba
		"192.0.0.192/32",         // Oracle
	} {
		list = append(list, Endpoints{network: netip.MustParsePrefix(network)})
	}
	for _, name := range []string{
		"metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "metadata.tencentyun.com", "metadata.tencentyun",
		"api.metadata.cloud.ibm.com", "instance-data", "instance-data.ec2.internal", "metadata.platformequinix.com", "metadata.packet.net",
	} {
		list = append(list, Endpoints{name: name})
	}
	return list
}

// addressOf returns the IP address that a host stands for without DNS. The host can have every form that a resolver
// accepts: an IP address, a local name (see isLocal), or numbers as in inet_aton (see numeric). The bool is false for
// all other hosts, such as DNS names.
func addressOf(host string) (netip.Addr, bool) {
	host = canonical(host)
	if isLocal(host) {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return address.WithZone("").Unmap(), true
	}
	return numeric(host)
}

// isLocal reports whether a host name is one that systems usually resolve to a loopback address, by /etc/hosts or
// because the name is localhost or below localhost. The name is in lower case, without a final dot.
func isLocal(name string) bool {
	if strings.HasSuffix("."+name, ".localhost") { // with all names below localhost (RFC 6761)
		return true
	}
	switch name {
	case "localhost4", "localhost6", "localhost.localdomain", "localhost4.localdomain4", "localhost6.localdomain6",
		"ip6-localhost", "ip6-loopback", "loopback":
		return true
	}
	return false
}

// readings returns the address a and, if a is an IPv6 address, all IPv4 addresses to which a translator or tunnel
// would send the packets for a. It knows IPv4-compatible (RFC 4291), translated (RFC 6052, 8215 and 2765), 6to4 (RFC
// 3056), Teredo (RFC 4380) and ISATAP (RFC 5214) addresses.
func readings(a netip.Addr) []netip.Addr {
	all := []netip.Addr{a}
	if a.Is4() {
		return all
	}
	b := a.As16()
	ipv4 := func(at int, flip byte) {
		all = append(all, netip.AddrFrom4([4]byte{b[at] ^ flip, b[at+1] ^ flip, b[at+2] ^ flip, b[at+3] ^ flip}))
	}
	const last = 12
	within := func(network string) bool { return netip.MustParsePrefix(network).Contains(a) }
	switch {
	case a.IsUnspecified() || a.IsLoopback():
	case within("::/96"), within("::ffff:0:0:0/96"), within("64:ff9b::/96"), within("64:ff9b:1::/48"):
		ipv4(last, 0)
	case within("2002::/16"):
		ipv4(2, 0)
	case within("2001::/32"):
		ipv4(4, 0)       // the server
		ipv4(last, 0xff) // the client
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		ipv4(last, 0)
	}
	return all
}

// ReadHosts parses a file such as /etc/hosts (hosts(5)). It returns the addresses of each name. It ignores
// lines of another form.
func ReadHosts(text string) map[string][]netip.Addr {
	hosts := map[string][]netip.Addr{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		address, err := netip.ParseAddr(words[0])
		if err != nil {
			continue
		}
		for _, name := range words[1:] {
			hosts[canonical(name)] = append(hosts[canonical(name)], address.WithZone("").Unmap())
		}
	}
	return hosts
}

// numeric parses an IPv4 address of one to four numbers, each decimal, octal or hexadecimal. The last number fills
// the rest of the address. For example, 2130706433, 0x7f.1, 127.1 and 0177.0.0.1 all mean 127.0.0.1. The bool is
// false for other texts.
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
