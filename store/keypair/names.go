package keypair

import (
	"slices"
	"strings"
)

// Covers reports whether one of names, as Pair.Names returns them, matches host: it is equal,
// or is a wildcard in place of the host's first label (RFC 9525, section 6.3). A host that is a
// wildcard is matched by the same wildcard only.
func Covers(names []string, host string) bool {
	_, parent, dotted := strings.Cut(host, ".")
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, host) || dotted && !strings.HasPrefix(host, "*") && strings.EqualFold(name, "*."+parent)
	})
}

// CoversSome reports whether one of names matches host or, if host is a wildcard, some host
// below it.
func CoversSome(names []string, host string) bool {
	suffix, wild := strings.CutPrefix(host, "*")
	return Covers(names, host) || wild && slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(strings.ToLower(name), strings.ToLower(suffix))
	})
}
