package keypair

import (
	"slices"
	"strings"
)

// Covers reports whether a certificate with the given names (Pair.Names) is valid for host. One of the names
// must be equal to host, or be a wildcard in place of the first label of host (RFC 9525, section 6.3). If host
// is a wildcard itself, only the same wildcard counts.
func Covers(names []string, host string) bool {
	_, parent, dotted := strings.Cut(host, ".")
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, host) || dotted && !strings.HasPrefix(host, "*") && strings.EqualFold(name, "*."+parent)
	})
}

// CoversSome reports whether a certificate with the given names is valid for host (Covers). If host is a
// wildcard, it is enough that the certificate is valid for some name below host.
func CoversSome(names []string, host string) bool {
	suffix, wild := strings.CutPrefix(host, "*")
	return Covers(names, host) || wild && slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(strings.ToLower(name), strings.ToLower(suffix))
	})
}
