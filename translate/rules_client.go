package translate

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/xds"
)

// A Gateway may have a certificate to show to backends (spec.tls.backend). In Envoy
// it belongs to a cluster, and clusters are shared by all Gateways. So such a Gateway
// has clusters of its own, by the Secret's name behind theirs (backend.As), and its
// routes are encoded once more when they enter its tables. Others pay nothing.

// hasClient lists a Gateway under itself when it names a certificate.
func hasClient(key manifest.Key, object *manifest.Object) []manifest.Key {
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	if tls := gateway.Spec.TLS; tls == nil || tls.Backend == nil || tls.Backend.ClientCertificateRef == nil {
		return nil
	}
	return []manifest.Key{key}
}

// runClient names the Secret of a Gateway's certificate, "" for none that can be used.
func (r *gatewayRules) runClient(c *memo.Ctx, gateway manifest.Key) string {
	if g := r.listeners.Get(c, gateway); g != nil {
		if secret, ok := g.Shows(); ok {
			return secret.Namespace + "/" + secret.Name
		}
	}
	return ""
}

// clientOf is runClient for all Gateways. Most have no certificate, and need no cell to
// know it.
func (r *gatewayRules) clientOf(c *memo.Ctx, gateway string) string {
	key := ir.GatewayKey(gateway)
	if len(r.in.clientIndex.Get(c, key)) == 0 {
		return ""
	}
	return r.client.Get(c, key)
}

// shownBy returns the entries of a node for a Gateway that shows a certificate; "" is none.
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

// show notes the certificate of a Gateway.
func (p *placed) show(gateway, client string) {
	if p.Clients == nil {
		p.Clients = map[string]string{}
	}
	p.Clients[gateway] = client
}

// shownBackends returns backends as a Gateway that shows a certificate sends to them.
func shownBackends(client string, backends []*backend.Key) []*backend.Key {
	if client == "" {
		return backends
	}
	return backend.Changed(backends, func(to *backend.Key) { to.Client = client })
}
