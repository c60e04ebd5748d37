package translate

import (
	"fmt"

	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/xds"
)

// A Gateway may have a certificate to show to backends (spec.tls.backend). In Envoy
// it belongs to a cluster, and clusters are shared by all Gateways. So such a Gateway
// has clusters of its own, by the Secret's name behind theirs (backend.As), and its
// routes are encoded once more when they enter its tables. Others pay nothing.

// shownBy returns the entries of a node as a Gateway with a client certificate serves them. An
// empty client means no certificate.
func shownBy(client string, own []*entry) []*entry {
	if client == "" {
		return own
	}
	out := make([]*entry, len(own))
	for i, e := range own {
		rule := e.Rule.Renamed(func(cluster string) string { return backend.As(cluster, client) })
		encoded, problems := xds.Route(rule)
		if len(problems) > 0 { // a name of a cluster is never at fault
			panic(fmt.Sprintf("translate: %s is refused by other names: %+v", rule.Name, problems))
		}
		out[i] = &entry{Rule: rule, Encoded: encoded, Own: e.Own}
	}
	return out
}

// shownBackends returns the keys of backends for a Gateway that presents a client certificate to
// them.
func shownBackends(client string, backends []*backend.Key) []*backend.Key {
	if client == "" {
		return backends
	}
	return backend.Changed(backends, func(to *backend.Key) { to.Client = client })
}
