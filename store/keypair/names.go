package keypair

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/scope"
)

// Covers reports whether a certificate with the given names (Pair.Names) is valid for host (scope.CertifiesHost).
func Covers(names []string, host string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return scope.CertifiesHost(name, host) })
}

// CoversSome reports whether a certificate with the given names is valid for host (Covers). If host is a
// wildcard, it is enough that the certificate is valid for some name below host.
func CoversSome(names []string, host string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return scope.CertifiesHost(name, host) || strings.HasPrefix(host, "*") && scope.CoversHost(strings.ToLower(host), strings.ToLower(name))
	})
}
