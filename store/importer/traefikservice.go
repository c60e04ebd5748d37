package importer

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// backends is what a service of Traefik becomes in an HTTPRoute rule: backendRefs, mirrors and settings.
type backends struct {
	refs        []any
	mirrors     []any  // filters of type RequestMirror
	rewriteHost bool   // the server receives its own DNS name as host (autoHostRewrite)
	closed      string // the reason why routers that use it answer 500, "" if they do not
}

// serviceReader reads services, and adds their Backends.
type serviceReader struct {
	parts    *configuration
	objects  *traefikObjects
	backends map[string]*backends // by name, without the provider
}

// read returns the backends of the service with the given name. In the following cases, the field closed of the
// result says why the service cannot be used, and routers that use it answer 500: the service does not exist, is
// left out by Options.Accept, leads to itself, or cannot be expressed. The parameter depth counts how many services
// this service is nested in: a weighted or mirroring service contains other services. A service with a depth above 1
// cannot be expressed.
func (s *serviceReader) read(name string, depth int) *backends {
	plain, ok := local(name)
	p := s.parts.find("service", plain)
	if !ok || p == nil || p.accepted {
		return &backends{closed: fmt.Sprintf("the service %q is not among the files", name)}
	}
	if known := s.backends[plain]; known != nil {
		return known
	}
	b := &backends{closed: "it leads to itself"}
	s.backends[plain] = b
	made := &backends{}
	switch {
	case depth > 1:
		p.failClosed("services within services within services cannot be expressed", "")
		p.told = append(p.told, "*")
	case p.get("loadBalancer") != nil:
		made = s.loadBalancer(p)
	case p.get("weighted") != nil:
		made = s.weighted(p, depth)
	case p.get("mirroring") != nil:
		made = s.mirroring(p, depth)
	default:
		for _, kind := range []string{"failover", "highestRandomWeight"} {
			if p.get(kind) != nil {
				p.failClosed("gatefold has no such service", "list all servers in one loadBalancer", kind)
			}
		}
	}
	p.rest()
	if p.closed != "" {
		made.closed = p.closedWhy
	}
	*b = *made
	return b
}

// loadBalancer adds a Backend with the servers of the service p, and returns backends that refer to this
// Backend. If import cannot express a server, or there is no server, it adds no Backend, and routers that use
// the service answer 500.
func (s *serviceReader) loadBalancer(p *part) *backends {
	var hosts []any
	protocol, names := "", true
	fail := func(field, why string) { p.failClosed(why, "", field) }
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
			p.failClosed("gatefold verifies the certificates of servers, and needs a BackendTLSPolicy for that", "docs/guides/backend-tls.md", field+".url")
		case target.Scheme != "http" && target.Scheme != "h2c" || i > 0 && protocol != target.Scheme:
			fail(field+".url", "the servers do not all speak http, or all h2c")
		case strings.Trim(target.Path, "/") != "" || target.RawQuery != "" || target.User != nil:
			fail(field+".url", "the URL says more than a server and a port")
		case port < 1 || port > 65535 || wrong != nil && !manifest.IsEndpointName(strings.ToLower(host)):
			fail(field+".url", "it is no address or DNS name with a port")
		case weighs && weight == 0:
			p.say(Same, "gets no requests", field)
		default:
			hosts = append(hosts, map[string]any{"host": strings.ToLower(host), "port": port})
			p.say(Same, "a host of the Backend", field+".url")
		}
		p.say(Different, "all servers get the same share", field+".weight")
		protocol = target.Scheme
	}
	p.say(Different, "requests of one client may go to several servers", "loadBalancer.sticky")
	p.say(Different, "left out: no server is asked for its health; a BackendConfigPolicy can say it", "loadBalancer.healthCheck", "loadBalancer.passiveHealthCheck")
	p.say(Different, "left out: Envoy does this in its own way", "loadBalancer.responseForwarding", "loadBalancer.strategy", "loadBalancer.serversTransport")
	b := &backends{}
	if value := p.get("loadBalancer.passHostHeader"); value != nil && !yes(value) {
		b.rewriteHost = true
		if names {
			p.say(Different, "autoHostRewrite: the server receives its own name, without the port", "loadBalancer.passHostHeader")
		} else {
			p.say(Different, "the server receives the host of the request: Envoy rewrites it for DNS names alone", "loadBalancer.passHostHeader")
			b.rewriteHost = false
		}
	} else {
		p.say(Same, "the server receives the host of the request", "loadBalancer.passHostHeader")
	}
	if transport, _ := local(text(p.get("loadBalancer.serversTransport"))); s.parts.find("serversTransport", transport) != nil {
		if q := s.parts.find("serversTransport", transport); len(q.told) == 0 {
			q.say(Different, "left out: servers are reached without TLS, and with Envoy's timeouts")
		}
	}
	if len(hosts) == 0 {
		if p.closed == "" {
			p.failClosed("it has no servers", "", "loadBalancer")
		}
		return b
	}
	static := map[string]any{"hosts": hosts}
	if protocol == "h2c" {
		static["appProtocol"] = "kubernetes.io/h2c"
	}
	if p.closed == "" {
		name := s.objects.name("Backend", p.name)
		s.objects.put(api.Group+"/"+api.Version, api.KindBackend, name, map[string]any{"type": "Static", "static": static})
		b.refs = []any{map[string]any{"group": api.Group, "kind": api.KindBackend, "name": name}}
	}
	return b
}

// weighted returns the backends of p, a service that splits requests between other services by weight. Routers that
// use p answer 500 if import cannot express one of these services or weights, or if p has no services. The
// parameter depth counts how many services p is nested in (see read).
func (s *serviceReader) weighted(p *part, depth int) *backends {
	b := &backends{}
	for i, entry := range list(p.get("weighted.services")) {
		field := fmt.Sprintf("weighted.services[%d]", i)
		weight, ok := int64(1), true
		if at(entry, "weight") != nil {
			weight, ok = number(at(entry, "weight"))
		}
		one := s.read(text(at(entry, "name")), depth+1)
		switch {
		case !ok || weight < 0 || weight > 1_000_000:
			p.failClosed("the weight is no number that a route may have", "", field)
		case one.closed != "":
			p.failClosed("one of its services is closed: "+one.closed, "", field)
		case len(one.refs) != 1 || len(one.mirrors) > 0 || one.rewriteHost:
			p.failClosed("one of its services is more than servers that receive the host of the request", "", field)
		default:
			ref := maps.Clone(one.refs[0].(map[string]any))
			ref["weight"] = weight
			b.refs = append(b.refs, ref)
			p.say(Same, "a backend with a weight", field+".name", field+".weight")
		}
	}
	p.say(Different, "requests of one client may go to several services", "weighted.sticky")
	p.say(Different, "left out: no service is asked for its health", "weighted.healthCheck")
	if len(b.refs) == 0 && p.closed == "" {
		p.failClosed("it has no services", "", "weighted")
	}
	return b
}

// mirroring returns the backends of p, a service that copies requests to other services. If import cannot express
// one of these mirrors, the mirror is left out. If import cannot express the main service, routers that use p
// answer 500. The parameter depth counts how many services p is nested in (see read).
func (s *serviceReader) mirroring(p *part, depth int) *backends {
	main := s.read(text(p.get("mirroring.service")), depth+1)
	b := &backends{refs: main.refs, rewriteHost: main.rewriteHost}
	if main.closed != "" {
		p.failClosed(main.closed, "", "mirroring.service")
	}
	p.say(Same, "the backends of the rule", "mirroring.service")
	for i, entry := range list(p.get("mirroring.mirrors")) {
		field := fmt.Sprintf("mirroring.mirrors[%d]", i)
		one := s.read(text(at(entry, "name")), depth+1)
		percent, _ := number(at(entry, "percent"))
		switch {
		case one.closed != "" || len(one.refs) != 1 || len(one.mirrors) > 0 || percent < 0 || percent > 100:
			p.say(Different, "left out: it is no service with servers, and a share of 0 to 100", field)
		default:
			b.mirrors = append(b.mirrors, map[string]any{"type": "RequestMirror", "requestMirror": map[string]any{"backendRef": one.refs[0], "percent": percent}})
			p.say(Same, "requestMirror", field+".name", field+".percent")
		}
	}
	p.say(Different, "left out: whole requests are mirrored", "mirroring.mirrorBody", "mirroring.maxBodySize", "mirroring.healthCheck")
	return b
}
