package plan

import (
	"net/netip"
	"slices"

	"github.com/gatefold/gatefold/translate/ir"
)

// documentationAddresses returns addresses of documentation networks, which examples use if possible.
func documentationAddresses() []netip.Prefix {
	return prefixes([]string{"203.0.113.7/32", "198.51.100.7/32", "192.0.2.7/32", "2001:db8::7/128"})
}

// admission is what the policies acl and rbac of a rule decide about client addresses.
type admission struct {
	// acl has the address ranges of the policy acl. The value is true if the policy allows the range, and false if
	// the policy denies it.
	acl   map[netip.Prefix]bool
	allow bool // whether the policy acl allows an address that is in none of its ranges
	// allowed and blocked are the sets of address ranges that the policy rbac allows and blocks.
	allowed, blocked map[netip.Prefix]bool
	lengths          []int // the prefix lengths of all ranges, the longest first
}

// admissionOf returns the admission of an ACL and an RBAC policy; either may be nil.
func admissionOf(acl *ir.ACL, rbac *ir.RBAC) *admission {
	a := &admission{acl: map[netip.Prefix]bool{}, allow: true, allowed: map[netip.Prefix]bool{}, blocked: map[netip.Prefix]bool{}}
	if acl != nil {
		a.allow = acl.Allow
		for i := range acl.Rules {
			for _, prefix := range prefixes(acl.Rules[i].Ranges) {
				a.acl[prefix] = acl.Rules[i].Allow
			}
		}
	}
	if rbac != nil {
		for _, prefix := range prefixes(rbac.Allowed) {
			a.allowed[prefix] = true
		}
		for _, prefix := range prefixes(rbac.Blocked) {
			a.blocked[prefix] = true
		}
	}
	for _, prefix := range a.prefixes() {
		a.lengths = append(a.lengths, prefix.Bits())
	}
	slices.Sort(a.lengths)
	a.lengths = slices.Compact(a.lengths)
	slices.Reverse(a.lengths)
	return a
}

// prefixes returns all ranges, sorted, each once.
func (a *admission) prefixes() (out []netip.Prefix) {
	for _, set := range []map[netip.Prefix]bool{a.acl, a.allowed, a.blocked} {
		for prefix := range set {
			out = append(out, prefix)
		}
	}
	slices.SortFunc(out, comparePrefixes)
	return slices.Compact(out)
}

// comparePrefixes orders ranges by address, then by length.
func comparePrefixes(a, b netip.Prefix) int {
	if order := a.Addr().Compare(b.Addr()); order != 0 {
		return order
	}
	return a.Bits() - b.Bits()
}

// decision says what an admission decides about one address: whether acl lets it pass, whether it is in an
// allowed range of rbac, and whether it is in a blocked range.
type decision struct{ acl, allowed, blocked bool }

// of returns the decision about an address. For the ACL, the most specific range (the longest prefix) that contains
// the address decides.
func (a *admission) of(address netip.Addr) decision {
	out, decided := decision{acl: a.allow}, false
	for _, bits := range a.lengths {
		prefix, err := address.Prefix(bits)
		if err != nil {
			continue // longer than the address
		}
		if allow, is := a.acl[prefix]; is && !decided {
			out.acl, decided = allow, true
		}
		out.allowed, out.blocked = out.allowed || a.allowed[prefix], out.blocked || a.blocked[prefix]
	}
	return out
}

// clients returns example addresses of clients. For an address, there are two decisions: that of the old admission
// (the parameter before), and that of the new admission (after). clients returns one address for each pair of
// decisions that it finds. The pairs with two different decisions come first. The candidates are
// documentationAddresses, and the addresses at the beginning and after the end of each range, because decisions
// change only there. clients returns nil if there are no ranges and the field allow is the same in both admissions.
func clients(before, after *admission) (out []netip.Addr) {
	both := slices.Concat(before.prefixes(), after.prefixes())
	if len(both) == 0 && before.allow == after.allow {
		return nil
	}
	var all []netip.Addr
	for _, stranger := range documentationAddresses() {
		all = append(all, stranger.Addr())
	}
	for _, prefix := range both {
		first := prefix.Masked().Addr()
		all = append(all, first.Next(), first)
		if next := lastOf(prefix).Next(); next.IsValid() {
			all = append(all, next.Next(), next)
		}
	}
	type decisions [2]decision
	known := map[decisions]bool{}
	var same []netip.Addr
	for _, address := range all {
		if !address.IsValid() {
			continue
		}
		both := decisions{before.of(address), after.of(address)}
		if known[both] {
			continue
		}
		known[both] = true
		if both[0] != both[1] {
			out = append(out, address)
		} else {
			same = append(same, address)
		}
	}
	return append(out, same...)
}

// lastOf returns the last address of a range.
func lastOf(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Masked().Addr().AsSlice()
	for bit := prefix.Bits(); bit < 8*len(bytes); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// prefixes parses address ranges. It leaves out ranges that cannot be parsed.
func prefixes(texts []string) (out []netip.Prefix) {
	for _, text := range texts {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			out = append(out, prefix)
		}
	}
	return out
}
