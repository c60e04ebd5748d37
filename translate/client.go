package translate

import (
	"fmt"

	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/xds"
)

// A Gateway can present a client certificate to backends (spec.tls.backend). In Envoy the certificate belongs
// to a cluster, and all Gateways share clusters. So such a Gateway has its own clusters, with the name of the
// Secret appended to the cluster name (backend.As). The routes of the Gateway are encoded once more for its
// virtual hosts. Other Gateways are not affected.

// shownBy returns copies of a route's entries for a Gateway that presents a client certificate to backends. The
// parameter own has the entries. The rules of the copies forward to the clusters with this certificate (see
// backend.As). The parameter client is "namespace/name" of the Secret with the certificate. If client is "", the
// result is own itself.
func shownBy(client string, own []*entry) []*entry {
	if client == "" {
		return own
	}
	out := make([]*entry, len(own))
	for i, e := range own {
		rule := e.Rule.Renamed(func(cluster string) string { return backend.As(cluster, client) })
		encoded, problems := xds.Route(rule)
		if len(problems) > 0 { // a cluster name never makes a rule invalid
			panic(fmt.Sprintf("translate: %s is refused by other names: %+v", rule.Name, problems))
		}
		out[i] = &entry{Rule: rule, Encoded: encoded, Own: e.Own, Aim: e.Aim}
	}
	return out
}

// shownBackends returns the keys of the clusters that a Gateway uses if it presents a client certificate to
// backends. Each is a copy of a key in the parameter backends, with the certificate added. The parameter client is
// "namespace/name" of the Secret with the certificate. If client is "", the result is the parameter backends
// itself.
func shownBackends(client string, backends []*backend.Key) []*backend.Key {
	if client == "" {
		return backends
	}
	return backend.Changed(backends, func(to *backend.Key) { to.Client = client })
}
