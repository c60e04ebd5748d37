package oidc

import (
	"net/netip"
	"slices"
)

// public reports whether an address is a public address of the internet. It returns false for loopback,
// link-local, private, shared and reserved addresses (RFC 6890 and its registries). Link-local addresses
// include the metadata services of clouds.
func public(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return !within(reserved4(), address)
	}
	if translated().Contains(address) { // the last four bytes are an IPv4 address
		bytes := address.As16()
		return public(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	return globalUnicast().Contains(address) && !within(reserved6(), address)
}

// within reports whether at least one of the ranges contains the address.
func within(ranges []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(address) })
}

// translated returns the well-known prefix of NAT64 (RFC 6052).
func translated() netip.Prefix { return netip.MustParsePrefix("64:ff9b::/96") }

// globalUnicast returns the range of IPv6 addresses that IANA assigns for the internet.
func globalUnicast() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

// reserved4 returns the IPv4 ranges that are not public.
func reserved4() []netip.Prefix {
	return prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4")
}

// reserved6 returns the IPv6 ranges that are not public although they are inside of globalUnicast: those for
// protocols, tunnels (Teredo, 6to4) and documentation.
func reserved6() []netip.Prefix {
	return prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
}

// prefixes parses the texts as CIDR prefixes. It panics if one is invalid.
func prefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}
