package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// router is a router of Traefik, with the settings that were read for it.
type router struct {
	*part
	conditions []condition
	priority   int64
	tls        bool
	points     []string // entry points, without duplicates
	effect     *effect
	backends   *backends
	// lost is true if some of the router's requests cannot be matched, so that other routers get these requests.
	lost bool
}

// readRouters sets t.routers, in Traefik's order. A router answers 500 if it would get requests that belong to
// a router or TCP router which cannot be imported.
func (t *traefik) readRouters() {
	for _, p := range t.ordered {
		if p.kind == "router" && !p.accepted {
			t.routers = append(t.routers, t.router(p))
		}
	}
	slices.SortStableFunc(t.routers, func(a, b *router) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), strings.Compare(a.name, b.name))
	})
	t.spread()
	t.closeBehindLost()
	t.closeBehindConnections()
}

// router returns the router of a part, with the effect of its middlewares and the backends of its service. If
// import cannot express one of these, the router answers 500.
func (t *traefik) router(p *part) *router {
	r := &router{part: p, effect: newEffect()}
	t.readMatch(r)
	t.readPoints(r)
	for _, name := range list(p.get("middlewares")) {
		r.effect.add(t.middleware(text(name)))
	}
	t.wantList(p, "middlewares")
	if r.effect.closed != "" {
		t.failClosed(p, r.effect.closed, "", "middlewares")
	}
	t.say(p, Same, "filters and policies of its rules", "middlewares")
	r.backends = t.service(text(p.get("service")), 0)
	if r.backends.closed != "" && !t.onlyRedirects(r) {
		t.failClosed(p, r.backends.closed, "give import all files together", "service")
	}
	t.say(p, Same, "the backends of its rules", "service")
	t.say(p, Different, "left out: access logs, metrics and traces are for all routes", "observability")
	t.rest(p)
	return r
}

// readMatch sets the conditions and the priority of a router. It leaves out a condition that is wide and has no
// requirement. If it leaves out a condition, or cannot read the rule, it sets r.lost.
func (t *traefik) readMatch(r *router) {
	rule := text(r.get("rule"))
	conditions, err := readRule(rule)
	wide := slices.ContainsFunc(conditions, func(c condition) bool { return c.wide })
	for _, c := range conditions {
		if !c.wide || !c.empty() {
			r.conditions = append(r.conditions, c)
		} else {
			r.lost = true
		}
	}
	switch {
	case err != nil:
		r.lost = true
		t.failClosed(r.part, "the rule cannot be read, and no route is written: "+err.Error(), "", "rule")
	case r.lost:
		t.failClosed(r.part, "what the rule matches cannot be expressed, and no route is written for that", "match it by hosts and paths", "rule")
	case wide:
		t.failClosed(r.part, "the rule wants more of a request than a route can say; all that the rest of it matches is closed", "", "rule")
	default:
		t.say(r.part, Same, "the matches of its rules", "rule")
	}
	r.priority = int64(len(rule))
	if n, ok := number(r.get("priority")); ok {
		if n != 0 {
			r.priority = n
		}
		t.say(r.part, Different, "routes have no priority: where the order would be another one, the report says so", "priority")
	}
	syntax := text(r.get("ruleSyntax"))
	if syntax == "v2" || syntax == "v3" {
		t.say(r.part, Same, "both are read", "ruleSyntax")
	}
}

// readPoints sets the entry points of a router, and whether it has TLS. If import cannot express the TLS
// options, the router answers 500.
func (t *traefik) readPoints(r *router) {
	for i, point := range list(r.get("entryPoints")) {
		if name := text(point); t.port(name) == 0 {
			t.add(Refused, r.place, r.id(), "not served there: the port of the entry point is not known", fmt.Sprintf("entryPoints[%d]", i)).
				Hint = "say it with --entry-point " + name + "=PORT"
		} else if !slices.Contains(r.points, name) {
			r.points = append(r.points, name)
		}
	}
	t.say(r.part, Same, "the listeners", "entryPoints")
	named := len(list(r.get("entryPoints"))) > 0
	value := r.get("tls")
	r.tls = value != nil && value != false
	if !r.tls && t.anyTLS(r) {
		t.add(Different, r.place, r.id(), "it is served with TLS on port 443, as Traefik is set there by its static configuration", "entryPoints")
	}
	if !named {
		r.points = []string{"web"}
		if r.tls {
			r.points = []string{"websecure"}
		}
	}
	t.wantList(r.part, "entryPoints")
	if options := text(r.get("tls.options")); r.get("tls.options") != nil && options == "" {
		t.failClosed(r.part, "it is no name", "", "tls.options")
	} else if options != "" && strings.TrimSuffix(options, "@file") != "default" {
		plain, _ := local(options)
		if p := t.parts["tlsOption/"+plain]; p == nil || p.closed != "" {
			t.failClosed(r.part, "import cannot express the options of TLS", "", "tls.options")
		}
	} else if t.anyTLS(r) && t.closedTLS != "" {
		t.failClosed(r.part, "import cannot express "+t.closedTLS, "", "tls")
	}
	if value, isMap := r.get("tls").(map[string]any); isMap && len(value) > 0 {
		t.say(r.part, Different, "gatefold gets no certificates: write them as Secrets", "tls.certResolver", "tls.domains")
		t.say(r.part, Same, "the options of its listener", "tls.options")
	} else {
		t.say(r.part, Same, "a listener with TLS", "tls")
	}
}

// tlsAt reports whether a router has TLS at an entry point: by its own setting, or because the port is 443.
func (t *traefik) tlsAt(r *router, point string) bool { return r.tls || t.port(point) == 443 }

// anyTLS reports whether a router has TLS on at least one of its entry points, or by its own setting.
func (t *traefik) anyTLS(r *router) bool {
	return r.tls || slices.ContainsFunc(r.points, func(name string) bool { return t.tlsAt(r, name) })
}

// port returns the port of an entry point. It returns 0 if the port is unknown.
func (t *traefik) port(name string) int64 {
	if port, ok := t.options.EntryPoints[name]; ok {
		return int64(port)
	}
	return map[string]int64{"web": 80, "http": 80, "websecure": 443, "https": 443}[name]
}

// wantList makes routers that use the part answer 500 if a field is neither a list nor unset.
func (t *traefik) wantList(p *part, field string) {
	if value := p.get(field); value != nil && list(value) == nil {
		t.failClosed(p, "it is no list", "", field)
	}
}

// spread adds entry points to routers that name none, because Traefik serves these routers at all entry points.
// It adds the entry points of other routers that have the same TLS setting there.
func (t *traefik) spread() {
	for _, r := range t.routers {
		if len(list(r.get("entryPoints"))) > 0 {
			continue
		}
		for _, o := range t.routers {
			for _, point := range o.points {
				if t.tlsAt(o, point) == t.tlsAt(r, point) && !slices.ContainsFunc(r.points, func(name string) bool { return t.port(name) == t.port(point) }) {
					r.points = append(r.points, point)
				}
			}
		}
		t.add(Different, r.place, r.id(), "it names no entry point: it is served on "+strings.Join(r.points, ", "), "entryPoints")
	}
}

// onlyRedirects reports whether every request of the router is redirected. Such a router needs no service.
func (t *traefik) onlyRedirects(r *router) bool {
	for _, point := range r.points {
		for _, c := range r.conditions {
			for _, host := range c.names() {
				if to, _ := r.effect.redirectAt(site{tls: t.tlsAt(r, point), port: t.port(point), host: host}); to == nil {
					return false
				}
			}
		}
	}
	return true
}

// guard returns a text that is equal for routers with the same protection of a site. It returns "" if there is
// no protection.
func (r *router) guard(s site) string {
	if r.closed != "" {
		return "closed"
	}
	guard := map[string]any{}
	for key, value := range r.effect.policy {
		guard[key] = value
	}
	to, certain := r.effect.redirectAt(s)
	if !certain {
		return "closed"
	}
	if to != nil {
		guard["redirect"] = to
	}
	if len(guard) == 0 {
		return ""
	}
	return string(marshal(guard))
}

// protects reports whether the router protects requests: by a policy, a redirect or TLS, or by a middleware or
// service that import cannot express. Any other reason for its answer 500 does not count.
func (t *traefik) protects(r *router) bool {
	return len(r.effect.policy) > 0 || r.effect.closed != "" || len(r.effect.redirects) > 0 || r.backends.closed != "" || t.anyTLS(r)
}

// closeBehindLost makes routers answer 500 if they would get requests of a router with protection. That router
// has a rule that cannot be matched (lost), and its priority is not lower.
func (t *traefik) closeBehindLost() {
	for _, a := range t.routers {
		for _, b := range t.routers {
			if a != b && a.lost && t.protects(a) && a.priority >= b.priority && t.meet(a, b) && b.closed == "" {
				t.failClosed(b.part, "it would get requests of "+a.id()+", which cannot be matched", "", "rule")
			}
		}
	}
}

// meet reports whether two routers have entry points with the same port. import writes one listener for each
// port.
func (t *traefik) meet(a, b *router) bool {
	return slices.ContainsFunc(a.points, func(name string) bool {
		return slices.ContainsFunc(b.points, func(other string) bool { return t.port(name) == t.port(other) })
	})
}

// readConnections leaves out and reports the routers, services and middlewares for TCP and UDP.
func (t *traefik) readConnections() {
	for _, p := range t.ordered {
		if strings.HasPrefix(p.kind, "tcp") || strings.HasPrefix(p.kind, "udp") {
			if !p.accepted {
				t.protecting(p.place, p.id(), "left out: import writes no routes of connections", "write a TCPRoute, TLSRoute or UDPRoute")
				p.told = append(p.told, "*")
			}
		}
	}
}

// closeBehindConnections makes HTTP routers answer 500 if they may get connections of a TCP router. TCP routers
// are left out.
func (t *traefik) closeBehindConnections() {
	for _, p := range t.ordered {
		if p.kind != "tcpRouter" || p.accepted {
			continue
		}
		points, hosts := list(p.get("entryPoints")), serverNames(text(p.get("rule")))
		for _, r := range t.routers {
			shared := slices.ContainsFunc(r.points, func(name string) bool {
				samePort := func(point any) bool { return t.port(text(point)) == t.port(name) }
				return (len(points) == 0 || slices.ContainsFunc(points, samePort)) && t.tlsAt(r, name) == (p.get("tls") != nil)
			})
			if shared && r.closed == "" && r.named(hosts) {
				t.failClosed(r.part, "it may get connections of "+p.id()+", which is left out", "", "entryPoints")
			}
		}
	}
}

// serverName matches a rule with only one server name.
var serverName = regexp.MustCompile("^HostSNI\\(`([A-Za-z0-9.-]+)`\\)$")

// serverNames returns the server names that the rule of a TCP router selects. It returns nil if the rule has
// any other condition. Then all connections may be selected.
func serverNames(rule string) (names []string) {
	for _, word := range strings.Split(rule, "||") {
		found := serverName.FindStringSubmatch(strings.TrimSpace(word))
		if found == nil {
			return nil
		}
		names = append(names, strings.ToLower(found[1]))
	}
	return names
}

// named reports whether a router may have requests for one of the hosts. If hosts is empty, it returns true.
func (r *router) named(hosts []string) bool {
	return len(hosts) == 0 || slices.ContainsFunc(hosts, func(host string) bool {
		return slices.ContainsFunc(r.conditions, func(c condition) bool { return c.covers(host) })
	})
}

// readTLS adds the certificates to the listeners, and verdicts for TLS options and stores. If import cannot
// express the default options, it sets t.closedTLS.
func (t *traefik) readTLS() {
	for _, p := range t.ordered {
		switch {
		case p.kind == "certificate":
			t.certificate(p)
		case p.kind == "tlsOption" && !p.accepted:
			t.say(p, Same, "a listener of gatefold wants a certificate for the name, too", "sniStrict")
			t.say(p, Different, "left out: Envoy has its own lists", "cipherSuites", "curvePreferences", "alpnProtocols", "preferServerCipherSuites")
			if v := text(p.get("minVersion")); v == "VersionTLS10" || v == "VersionTLS11" || v == "VersionTLS12" {
				t.say(p, Different, "Envoy begins at TLS 1.2", "minVersion")
			}
			t.rest(p)
			if p.name == "default" && p.closed != "" {
				t.closedTLS = p.id()
			}
		case p.kind == "tlsStore" && !p.accepted:
			t.say(p, Refused, "left out: the certificates of listeners are Secrets")
		}
	}
}

// certificate adds a reference to a Secret to the listeners. The user must write the Secret, because import
// reads no other files.
func (t *traefik) certificate(p *part) {
	name := t.objectName("Secret", "certificate")
	ref := map[string]any{"name": name}
	t.certificates = append(t.certificates, ref)
	t.say(p, Different, "listeners name the Secret "+traefikNamespace+"/"+name+": put the two files there, as tls.crt and tls.key", "certFile", "keyFile")
	t.say(p, Different, "all listeners have it", "stores")
	t.rest(p)
}

// gateway adds the Gateway with its listeners.
func (t *traefik) gateway(listeners []*listener) {
	var all []any
	for _, l := range listeners {
		fields := map[string]any{"name": l.name, "port": l.port, "protocol": "HTTP"}
		if l.tls {
			refs := t.certificates
			if len(refs) == 0 {
				refs = []any{map[string]any{"name": "certificate"}}
			}
			fields["protocol"], fields["tls"] = "HTTPS", map[string]any{"certificateRefs": refs}
		}
		all = append(all, fields)
	}
	if len(all) > 0 {
		t.objects.put(manifest.Key{Group: gatewayGroup, Kind: "Gateway", Namespace: traefikNamespace, Name: "traefik"}, gatewayGroup+"/v1",
			map[string]any{"gatewayClassName": "gatefold", "listeners": all})
	}
}
