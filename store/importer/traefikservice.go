package importer

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// traefikNamespace is the namespace of all objects that the import of Traefik's files writes.
const traefikNamespace = "traefik"

// backends are the backendRefs and settings that a service becomes.
type backends struct {
	refs        []any
	mirrors     []any // filters of type RequestMirror
	rewriteHost bool
	closed      string // the reason why routers that use it answer 500, "" if they do not
}

// service returns the backends of the service with a name. closed is set in the result if the service does not
// exist, cannot be expressed, or is part of a loop. depth is the number of services that contain the service.
func (t *traefik) service(name string, depth int) *backends {
	plain, ok := local(name)
	p := t.parts["service/"+plain]
	if !ok || p == nil || p.accepted {
		return &backends{closed: fmt.Sprintf("the service %q is not among the files", name)}
	}
	if known := t.backends[plain]; known != nil {
		return known
	}
	b := &backends{closed: "it leads to itself"}
	t.backends[plain] = b
	made := &backends{}
	switch {
	case depth > 1:
		t.failClosed(p, "services within services within services cannot be expressed", "")
		p.told = append(p.told, "*")
	case p.get("loadBalancer") != nil:
		made = t.loadBalancer(p)
	case p.get("weighted") != nil:
		made = t.weighted(p, depth)
	case p.get("mirroring") != nil:
		made = t.mirroring(p, depth)
	default:
		for _, kind := range []string{"failover", "highestRandomWeight"} {
			if p.get(kind) != nil {
				t.failClosed(p, "gatefold has no such service", "list all servers in one loadBalancer", kind)
			}
		}
	}
	t.rest(p)
	if p.closed != "" {
		made.closed = p.closed
	}
	*b = *made
	return b
}

// loadBalancer adds a Backend for the servers of a service, and returns its reference. If import cannot express
// a server, or there is none, it adds no Backend, and routers that use the service answer 500.
func (t *traefik) loadBalancer(p *part) *backends {
	var hosts []any
	protocol, names := "", true
	fail := func(field, why string) { t.failClosed(p, why, "", field) }
	for i, server := range list(p.get("loadBalancer.servers")) {
		field := fmt.Sprintf("loadBalancer.servers[%d]", i)
		target, err := url.Parse(text(at(server, "url")))
		if err != nil || target.Host == "" {
			fail(field+".url", "the server has no URL")
			continue
		}
		port := map[string]int64{"http": 80, "h2c": 80}[target.Scheme]
		if n, ok := number(target.Port()); ok {
			port = n
		}
		host := target.Hostname()
		_, wrong := netip.ParseAddr(host)
		names = names && wrong != nil
		weight, weighs := number(at(server, "weight"))
		switch {
		case target.Scheme == "https":
			t.failClosed(p, "gatefold verifies the certificates of servers, and needs a BackendTLSPolicy for that", "docs/guides/backend-tls.md", field+".url")
		case target.Scheme != "http" && target.Scheme != "h2c" || i > 0 && protocol != target.Scheme:
			fail(field+".url", "the servers do not all speak http, or all h2c")
		case strings.Trim(target.Path, "/") != "" || target.RawQuery != "" || target.User != nil:
			fail(field+".url", "the URL says more than a server and a port")
		case port < 1 || port > 65535 || wrong != nil && len(validation.IsDNS1123Subdomain(strings.ToLower(host))) > 0:
			fail(field+".url", "it is no address or DNS name with a port")
		case weighs && weight == 0:
			t.say(p, Same, "gets no requests", field)
		default:
			hosts = append(hosts, map[string]any{"host": strings.ToLower(host), "port": port})
			t.say(p, Same, "a host of the Backend", field+".url")
		}
		t.say(p, Different, "all servers get the same share", field+".weight")
		protocol = target.Scheme
	}
	t.say(p, Different, "requests of one client may go to several servers", "loadBalancer.sticky")
	t.say(p, Different, "left out: no server is asked for its health; a BackendConfigPolicy can say it", "loadBalancer.healthCheck", "loadBalancer.passiveHealthCheck")
	t.say(p, Different, "left out: Envoy does this in its own way", "loadBalancer.responseForwarding", "loadBalancer.strategy", "loadBalancer.serversTransport")
	b := &backends{}
	if value := p.get("loadBalancer.passHostHeader"); value != nil && !yes(value) {
		b.rewriteHost = true
		if names {
			t.say(p, Different, "autoHostRewrite: the server receives its own name, without the port", "loadBalancer.passHostHeader")
		} else {
			t.say(p, Different, "the server receives the host of the request: Envoy rewrites it for DNS names alone", "loadBalancer.passHostHeader")
			b.rewriteHost = false
		}
	} else {
		t.say(p, Same, "the server receives the host of the request", "loadBalancer.passHostHeader")
	}
	if transport, _ := local(text(p.get("loadBalancer.serversTransport"))); t.parts["serversTransport/"+transport] != nil {
		if q := t.parts["serversTransport/"+transport]; len(q.told) == 0 {
			t.say(q, Different, "left out: servers are reached without TLS, and with Envoy's timeouts")
		}
	}
	if len(hosts) == 0 {
		if p.closed == "" {
			t.failClosed(p, "it has no servers", "", "loadBalancer")
		}
		return b
	}
	static := map[string]any{"hosts": hosts}
	if protocol == "h2c" {
		static["appProtocol"] = "kubernetes.io/h2c"
	}
	if p.closed == "" {
		name := t.objectName("Backend", p.name)
		t.objects.put(manifest.Key{Group: api.Group, Kind: api.KindBackend, Namespace: traefikNamespace, Name: name},
			api.Group+"/"+api.Version, map[string]any{"type": "Static", "static": static})
		b.refs = []any{map[string]any{"group": api.Group, "kind": api.KindBackend, "name": name}}
	}
	return b
}

// weighted returns the backends of a service that splits requests between other services by weight. If import
// cannot express one of the services or weights, or there are no services, routers that use the service answer
// 500.
func (t *traefik) weighted(p *part, depth int) *backends {
	b := &backends{}
	for i, entry := range list(p.get("weighted.services")) {
		field := fmt.Sprintf("weighted.services[%d]", i)
		weight, ok := int64(1), true
		if at(entry, "weight") != nil {
			weight, ok = number(at(entry, "weight"))
		}
		one := t.service(text(at(entry, "name")), depth+1)
		switch {
		case !ok || weight < 0 || weight > 1_000_000:
			t.failClosed(p, "the weight is no number that a route may have", "", field)
		case one.closed != "":
			t.failClosed(p, "one of its services is closed: "+one.closed, "", field)
		case len(one.refs) != 1 || len(one.mirrors) > 0 || one.rewriteHost:
			t.failClosed(p, "one of its services is more than servers that receive the host of the request", "", field)
		default:
			ref := maps.Clone(one.refs[0].(map[string]any))
			ref["weight"] = weight
			b.refs = append(b.refs, ref)
			t.say(p, Same, "a backend with a weight", field+".name", field+".weight")
		}
	}
	t.say(p, Different, "requests of one client may go to several services", "weighted.sticky")
	t.say(p, Different, "left out: no service is asked for its health", "weighted.healthCheck")
	if len(b.refs) == 0 && p.closed == "" {
		t.failClosed(p, "it has no services", "", "weighted")
	}
	return b
}

// mirroring returns the backends of a service that copies requests to other services. A mirror that import
// cannot express is left out. If import cannot express the main service, routers that use p answer 500.
func (t *traefik) mirroring(p *part, depth int) *backends {
	main := t.service(text(p.get("mirroring.service")), depth+1)
	b := &backends{refs: main.refs, rewriteHost: main.rewriteHost}
	if main.closed != "" {
		t.failClosed(p, main.closed, "", "mirroring.service")
	}
	t.say(p, Same, "the backends of the rule", "mirroring.service")
	for i, entry := range list(p.get("mirroring.mirrors")) {
		field := fmt.Sprintf("mirroring.mirrors[%d]", i)
		one := t.service(text(at(entry, "name")), depth+1)
		percent, _ := number(at(entry, "percent"))
		switch {
		case one.closed != "" || len(one.refs) != 1 || len(one.mirrors) > 0 || percent < 0 || percent > 100:
			t.say(p, Different, "left out: it is no service with servers, and a share of 0 to 100", field)
		default:
			b.mirrors = append(b.mirrors, map[string]any{"type": "RequestMirror", "requestMirror": map[string]any{"backendRef": one.refs[0], "percent": percent}})
			t.say(p, Same, "requestMirror", field+".name", field+".percent")
		}
	}
	t.say(p, Different, "left out: whole requests are mirrored", "mirroring.mirrorBody", "mirroring.maxBodySize", "mirroring.healthCheck")
	return b
}
