package keypair

import (
	"slices"
	"strings"
)

// Covers reports whether one of names matches host. The argument names is a result of Pair.Names. A name
// matches if it is equal, or is a wildcard in place of the host's first label (RFC 9525, section 6.3). If host
// is a wildcard, only the same wildcard matches.
func Covers(names []string, host string) bool {
	_, parent, dotted := strings.Cut(host, ".")
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, host) || dotted && !strings.HasPrefix(host, "*") && strings.EqualFold(name, "*."+parent)
	})
}

// CoversSome reports whether one of names matches host. If host is a wildcard, it also returns true if a name
// is below host.
func CoversSome(names []string, host string) bool {
	suffix, wild := strings.CutPrefix(host, "*")
	return Covers(names, host) || wild && slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(strings.ToLower(name), strings.ToLower(suffix))
	})
}
