package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// readMatch sets the conditions of a router from its rule. It also sets the priority of the router from the field
// priority. If this field is 0 or no integer, the priority is the length of the rule.
//
// A condition is wide if it admits more requests than the rule. If there is a wide condition, the router answers 500
// to all requests that meet one of r.conditions. With a wide condition that every request meets, the router would
// answer 500 to all traffic. So readMatch does not add such a condition to r.conditions, and sets r.lost instead.
// readMatch also sets r.lost if the rule cannot be read.
func (r *router) readMatch() {
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
		r.failClosed("the rule cannot be read, and no route is written: "+err.Error(), "", "rule")
	case r.lost:
		r.failClosed("what the rule matches cannot be expressed, and no route is written for that", "match it by hosts and paths", "rule")
	case wide:
		r.failClosed("the rule wants more of a request than a route can say; all that the rest of it matches is closed", "", "rule")
	default:
		r.say(Same, "the matches of its rules", "rule")
	}
	r.priority = int64(len(rule))
	if n, ok := number(r.get("priority")); ok {
		if n != 0 {
			r.priority = n
		}
		r.say(Different, "routes have no priority: where the order would be another one, the report says so", "priority")
	}
	syntax := text(r.get("ruleSyntax"))
	if syntax == "v2" || syntax == "v3" {
		r.say(Same, "both are read", "ruleSyntax")
	}
}

// onlyRedirects reports whether the middlewares of the router redirect every request, so that the router needs
// no service. The parameter points has the ports of the entry points.
func (r *router) onlyRedirects(points entryPoints) bool {
	for _, point := range r.points {
		for _, c := range r.conditions {
			for _, host := range c.names() {
				if to, _ := r.effect.redirectAt(site{tls: points.tlsAt(r, point), port: points.port(point), host: host}); to == nil {
					return false
				}
			}
		}
	}
	return true
}

// guard describes, as a text, how the router protects the requests to a site (a listener with one host). The
// text is only for comparisons: two routers with the same text protect the site in the same way. It is "" if
// the router does not protect the site, and "closed" if the router answers 500.
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

// protects reports whether the router protects requests. It does if one of these is true:
//   - Its middlewares become a policy or a redirect.
//   - It serves with TLS.
//   - import cannot express one of its middlewares, or its service.
//
// A router that answers 500 only because of its rule does not protect requests by that.
func (r *router) protects(points entryPoints) bool {
	return len(r.effect.policy) > 0 || r.effect.closed != "" || len(r.effect.redirects) > 0 || r.backends.closed != "" || points.anyTLS(r)
}

// named reports whether a router may get requests for at least one of the hosts. If hosts is empty, it returns
// true.
func (r *router) named(hosts []string) bool {
	return len(hosts) == 0 || slices.ContainsFunc(hosts, func(host string) bool {
		return slices.ContainsFunc(r.conditions, func(c condition) bool { return c.covers(host) })
	})
}

// routerReader reads routers, with their middlewares and services.
type routerReader struct {
	parts       *configuration
	points      entryPoints
	middlewares *middlewareReader
	services    *serviceReader
	routers     []*router // in Traefik's order
}

// read reads all routers of the configuration into rr.routers, in Traefik's order. import leaves out TCP routers. For
// some HTTP routers, import can match only a part of the requests (router.lost). Connections or requests that import
// left out could go to another router, which must not serve them. Such another router answers 500 (see
// closeBehindConnections and closeBehindLost).
func (rr *routerReader) read() {
	for _, p := range rr.parts.ordered {
		if p.kind == "router" && !p.accepted {
			rr.routers = append(rr.routers, rr.router(p))
		}
	}
	slices.SortStableFunc(rr.routers, func(a, b *router) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), strings.Compare(a.name, b.name))
	})
	rr.spread()
	rr.closeBehindLost()
	rr.closeBehindConnections()
}

// router returns the router that p defines in the configuration of Traefik, with the effect of its middlewares
// and the backends of its service. If import cannot express the middlewares or the service, the router answers
// 500. The service does not matter for a router that redirects all its requests.
func (rr *routerReader) router(p *part) *router {
	r := &router{part: p, effect: newEffect()}
	r.readMatch()
	rr.readPoints(r)
	for _, name := range list(p.get("middlewares")) {
		r.effect.add(rr.middlewares.effect(text(name)))
	}
	p.wantList("middlewares")
	if r.effect.closed != "" {
		p.failClosed(r.effect.closed, "", "middlewares")
	}
	p.say(Same, "filters and policies of its rules", "middlewares")
	r.backends = rr.services.read(text(p.get("service")), 0)
	if r.backends.closed != "" && !r.onlyRedirects(rr.points) {
		p.failClosed(r.backends.closed, "give import all files together", "service")
	}
	p.say(Same, "the backends of its rules", "service")
	p.say(Different, "left out: access logs, metrics and traces are for all routes", "observability")
	p.rest()
	return r
}

// readPoints sets the entry points of a router (r.points), and whether the router has TLS (r.tls). Without
// entry points, the router gets websecure if it has TLS, otherwise web. An entry point whose port is unknown is
// left out. If import cannot express the router's TLS options, the router answers 500.
func (rr *routerReader) readPoints(r *router) {
	for i, point := range list(r.get("entryPoints")) {
		if name := text(point); rr.points.port(name) == 0 {
			r.add(Refused, "not served there: the port of the entry point is not known", fmt.Sprintf("entryPoints[%d]", i)).
				Hint = "say it with --entry-point " + name + "=PORT"
		} else if !slices.Contains(r.points, name) {
			r.points = append(r.points, name)
		}
	}
	r.say(Same, "the listeners", "entryPoints")
	named := len(list(r.get("entryPoints"))) > 0
	value := r.get("tls")
	r.tls = value != nil && value != false
	if !r.tls && rr.points.anyTLS(r) {
		r.add(Different, "it is served with TLS on port 443, as Traefik is set there by its static configuration", "entryPoints")
	}
	if !named {
		r.points = []string{"web"}
		if r.tls {
			r.points = []string{"websecure"}
		}
	}
	r.wantList("entryPoints")
	if options := text(r.get("tls.options")); r.get("tls.options") != nil && options == "" {
		r.failClosed("it is no name", "", "tls.options")
	} else if options != "" && strings.TrimSuffix(options, "@file") != "default" {
		plain, _ := local(options)
		if p := rr.parts.find("tlsOption", plain); p == nil || p.closed != "" {
			r.failClosed("import cannot express the options of TLS", "", "tls.options")
		}
	} else if p := rr.parts.find("tlsOption", "default"); rr.points.anyTLS(r) && p != nil && p.closed != "" {
		r.failClosed("import cannot express "+p.id(), "", "tls")
	}
	if value, isMap := r.get("tls").(map[string]any); isMap && len(value) > 0 {
		r.say(Different, "gatefold gets no certificates: write them as Secrets", "tls.certResolver", "tls.domains")
		r.say(Same, "the options of its listener", "tls.options")
	} else {
		r.say(Same, "a listener with TLS", "tls")
	}
}

// spread gives each router r that names no entry points the entry points of all other routers, because Traefik serves
// r at all entry points. From another router o, r does not get an entry point at which only one of r and o has TLS
// (see tlsAt), nor an entry point whose port r already has.
func (rr *routerReader) spread() {
	for _, r := range rr.routers {
		if len(list(r.get("entryPoints"))) > 0 {
			continue
		}
		for _, o := range rr.routers {
			for _, point := range o.points {
				if rr.points.tlsAt(o, point) == rr.points.tlsAt(r, point) && !slices.ContainsFunc(r.points, func(name string) bool { return rr.points.port(name) == rr.points.port(point) }) {
					r.points = append(r.points, point)
				}
			}
		}
		r.add(Different, "it names no entry point: it is served on "+strings.Join(r.points, ", "), "entryPoints")
	}
}

// closeBehindLost looks for routers with lost requests (router.lost): requests that import cannot match. They go to
// other routers on the same port. If a router with lost requests protects its requests (see protects), the lost
// requests would be unprotected at the other routers. So closeBehindLost makes the other routers answer 500, if their
// priority is the same or lower.
func (rr *routerReader) closeBehindLost() {
	for _, a := range rr.routers {
		for _, b := range rr.routers {
			if a != b && a.lost && a.protects(rr.points) && a.priority >= b.priority && rr.points.meet(a, b) && b.closed == "" {
				b.failClosed("it would get requests of "+a.id()+", which cannot be matched", "", "rule")
			}
		}
	}
}
