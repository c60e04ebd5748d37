package keypair

import (
	"slices"
	"strings"
)

// Covers reports whether one of names, as Pair.Names returns them, is for host: it is the
// same, or a wildcard in the place of the host's first label (RFC 9525, section 6.3). A
// host that is a wildcard is covered by the same wildcard alone.
func Covers(names []string, host string) bool {
	_, parent, dotted := strings.Cut(host, ".")
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, host) || dotted && !strings.HasPrefix(host, "*") && strings.EqualFold(name, "*."+parent)
	})
}

// CoversSome reports whether one of names is for host or, where host is a wildcard, for
// some host of it.
func CoversSome(names []string, host string) bool {
	suffix, wild := strings.CutPrefix(host, "*")
	return Covers(names, host) || wild && slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(strings.ToLower(name), strings.ToLower(suffix))
	})
}
