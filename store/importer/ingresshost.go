package importer

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
)

// ingressHost is a hostname with the paths and settings of all its Ingresses. It corresponds to a server block
// of nginx.
type ingressHost struct {
	name    string // "" stands for every other host
	aliases []string
	paths   []*ingressPath
	// certificate is the Secret with the certificate, zero if there is none.
	certificate manifest.Key
	// passthrough is the path whose backend gets the connections with their TLS, nil if TLS ends at the Gateway.
	passthrough *ingressPath
	regex       bool   // the paths are regular expressions, compared without regard to case
	closed      string // the reason why the whole host answers 500, "" if it does not
}

// ingressHosts are the hosts of all imported Ingresses, by name.
type ingressHosts map[string]*ingressHost

// get returns the host with a name. If there is no such host yet, get adds an empty one, so the result is never
// nil.
func (h ingressHosts) get(name string) *ingressHost {
	if h[name] == nil {
		h[name] = &ingressHost{name: name}
	}
	return h[name]
}

// alias adds aliases, which are further hostnames, to the host with the given name. If another host has the
// same alias, both hosts answer 500: nginx assigns the alias to one of the two, but the import does not know
// which.
func (h ingressHosts) alias(name string, aliases []string) {
	for _, alias := range aliases {
		for _, other := range h {
			if other.name != name && slices.Contains(other.aliases, alias) {
				other.closed, h.get(name).closed = "two hosts have the alias "+alias, "two hosts have the alias "+alias
			}
		}
		h.get(name).aliases = append(h.get(name).aliases, alias)
	}
}

// hasAlias reports whether a host has the alias.
func (h ingressHosts) hasAlias(alias string) bool {
	for _, host := range h {
		if slices.Contains(host.aliases, alias) {
			return true
		}
	}
	return false
}

// certified reports whether nginx has a certificate for a host: for the host itself, or for the wildcard of its
// domain.
func (h ingressHosts) certified(name string) bool {
	_, above, _ := strings.Cut(name, ".")
	for _, host := range []string{name, "*." + above} {
		if h[host] != nil && !h[host].certificate.IsZero() {
			return true
		}
	}
	return false
}

// serves reports whether a host that has paths, or an alias of such a host, covers a hostname (the parameter
// name). A wildcard such as *.example.com covers the names below example.com, and the host "" covers all names.
func (h ingressHosts) serves(name string) bool {
	for _, host := range h {
		if len(host.paths) > 0 && slices.ContainsFunc(append([]string{host.name}, host.aliases...), func(pattern string) bool { return scope.CoversHost(pattern, name) }) {
			return true
		}
	}
	return false
}
