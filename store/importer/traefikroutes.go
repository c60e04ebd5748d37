package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
)

// listener is a listener of the Gateway: one port, with the routers of its entry points in Traefik's order.
type listener struct {
	name    string
	port    int64
	tls     bool
	routers []*router
}

// traefikWriter writes the Gateway, and the routes and policies of the routers.
type traefikWriter struct {
	*report
	objects      *traefikObjects
	points       entryPoints
	routers      []*router
	certificates []any // references to Secrets
}

// write adds the Gateway, the HTTPRoutes of all hosts, and the policies of all routers to the objects that
// import writes. If there are too many conditions (see fits), the import is blocked, and write adds nothing.
func (w *traefikWriter) write() {
	listeners := w.listeners()
	if !w.fits(listeners) {
		return
	}
	for _, l := range listeners {
		for _, host := range l.hosts() {
			l.compare(host)
		}
	}
	w.gateway(listeners)
	targets := map[*router][]any{}
	for _, l := range listeners {
		for _, host := range l.hosts() {
			w.route(l, host, targets)
		}
	}
	for _, r := range w.routers {
		w.policy(r, targets[r])
	}
}

// The limits of the method fits: the highest number of conditions of routers for one host (maxOfHost), and for all
// hosts together (maxOfHosts).
const (
	maxOfHost  = 500
	maxOfHosts = 20_000
)

// fits reports whether the routers have few enough conditions to compare them for each host (maxOfHost,
// maxOfHosts). If they have too many, fits blocks the import and returns false.
func (w *traefikWriter) fits(listeners []*listener) bool {
	total := 0
	for _, l := range listeners {
		for _, host := range l.hosts() {
			n := 0
			for _, r := range l.routers {
				for _, c := range r.conditions {
					if c.covers(host) {
						n++
					}
				}
			}
			if total += n; n > maxOfHost || total > maxOfHosts {
				w.block(place{}, "", fmt.Sprintf("more than %d rules for a host, or %d for all hosts together", maxOfHost, maxOfHosts), "import the files in several parts")
				return false
			}
		}
	}
	return true
}

// listeners returns one listener for each port, with the routers on this port. If at least one of these routers
// has no TLS, the listener has no TLS, and routers with TLS are not served on this port; a verdict says so.
func (w *traefikWriter) listeners() []*listener {
	byPort, plain := map[int64]*listener{}, map[int64]bool{}
	for _, r := range w.routers {
		for _, point := range r.points {
			port := w.points.port(point)
			plain[port] = plain[port] || !w.points.tlsAt(r, point)
		}
	}
	for _, r := range w.routers {
		for _, point := range r.points {
			port := w.points.port(point)
			l := byPort[port]
			if l == nil {
				l = &listener{name: w.objects.name("listener", point), port: port, tls: !plain[port]}
				byPort[port] = l
			}
			switch {
			case l.tls != w.points.tlsAt(r, point):
				r.report.protecting(r.place, r.id(), "not served on "+point+": another router there has no TLS", "", "entryPoints")
			case !slices.Contains(l.routers, r):
				l.routers = append(l.routers, r)
			}
		}
	}
	var all []*listener
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		all = append(all, byPort[port])
	}
	return all
}

// gateway adds the Gateway with its listeners.
func (w *traefikWriter) gateway(listeners []*listener) {
	var all []any
	for _, l := range listeners {
		fields := map[string]any{"name": l.name, "port": l.port, "protocol": "HTTP"}
		if l.tls {
			refs := w.certificates
			if len(refs) == 0 {
				refs = []any{map[string]any{"name": "certificate"}}
			}
			fields["protocol"], fields["tls"] = "HTTPS", map[string]any{"certificateRefs": refs}
		}
		all = append(all, fields)
	}
	if len(all) > 0 {
		w.objects.put(gatewayGroup+"/v1", "Gateway", "traefik", map[string]any{"gatewayClassName": "gatefold", "listeners": all})
	}
}

// at returns the site for a host at the listener: the host with the port and TLS of the listener.
func (l *listener) at(host string) site { return site{tls: l.tls, port: l.port, host: host} }

// hosts returns the hostnames in the rules of the listener's routers, sorted, without duplicates. The entry ""
// is there if a rule has no hostname, and stands for all other hosts.
func (l *listener) hosts() []string {
	var all []string
	for _, r := range l.routers {
		for _, c := range r.conditions {
			all = append(all, c.names()...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// compare looks at each conflict of a host (see the type conflict): two routers match the same requests. Traefik
// chooses pair.first for these requests, but Envoy may choose pair.second. The first of these rules that applies
// decides what happens:
//   - If pair.first protects the host in a way that pair.second does not, compare makes pair.second answer 500.
//   - If pair.first has the higher priority, compare reports in a verdict that pair.second gets these requests.
//   - In all other cases, nothing happens.
func (l *listener) compare(host string) {
	for _, pair := range l.conflicts(host, l.ordered(host)) {
		first, second, at := pair.first, pair.second, l.at(host)
		switch {
		case first.guard(at) != "" && first.guard(at) != second.guard(at) && second.closed == "":
			second.failClosed("a route would get requests that "+first.id()+" protects: its match is more specific, and its priority is not higher", "", "priority", "rule")
		case first.priority > second.priority:
			second.add(Different, "it gets requests that "+first.id()+" got: its match is more specific, though its priority is lower", "rule")
		}
	}
}

// route adds the HTTPRoute of a host at a listener, or several HTTPRoutes if there are more than maxWritten
// rules. The map targets has a list of targetRefs for each router, which the router's policies use. For each rule
// of a router, route appends a targetRef to the router's list: also for a closed rule, as the policies must apply when
// somebody opens it.
func (w *traefikWriter) route(l *listener, host string, targets map[*router][]any) {
	var rules []any
	var owners []*router
	var reasons []string // why the rule is closed, "" if it is not
	entries := l.entries(host, l.ordered(host))
	if other := mixed(entries); other != nil {
		expression := spellingsOf(entries)
		rules, owners = append(rules, map[string]any{"matches": []any{pathMatch("RegularExpression", expression)}}), append(owners, nil)
		reasons = append(reasons, spellingsReason)
		other.add(Different, spellingsTold, "rule")
	}
	for _, e := range entries {
		for _, rule := range e.rules() {
			rules, owners, reasons = append(rules, rule), append(owners, e.router), append(reasons, e.whyClosed(rule))
		}
	}
	base := w.objects.name("host", cmp.Or(strings.Replace(host, "*", "wildcard", 1), "any-host")+"-"+l.name)
	for part := 0; part*maxWritten < len(rules); part++ {
		end := min(len(rules), (part+1)*maxWritten)
		some := rules[part*maxWritten : end : end]
		spec := map[string]any{"rules": some, "parentRefs": []any{map[string]any{"name": "traefik", "sectionName": l.name}}}
		if host != "" {
			spec["hostnames"] = []any{host}
		}
		name := fmt.Sprintf("%s-%04d", base, part)
		route := w.objects.put(gatewayGroup+"/v1", "HTTPRoute", name, spec)
		for i, rule := range some {
			fields := rule.(map[string]any)
			fields["name"] = fmt.Sprintf("rule-%d", i)
			if reason := reasons[part*maxWritten+i]; reason != "" {
				shutRule(route, i, reason)
			}
			if owner := owners[part*maxWritten+i]; owner != nil {
				targets[owner] = append(targets[owner], map[string]any{"group": gatewayGroup, "kind": "HTTPRoute", "name": name, "sectionName": fields["name"]})
			}
		}
	}
}

// spellingsOf returns a regular expression that matches the ambiguous paths of one host. A path is ambiguous if
// gateways may normalize it differently, such as a path with "//" (see the function spellings). The parameter entries
// has the conditions of the host. If the path of a condition has a character that the function spellings does not
// support, the expression covers the escapes of almost all punctuation, instead of only the escapes of characters in
// the paths. The reason is that some versions of Traefik decode a path before they match it.
func spellingsOf(entries []entry) string {
	var paths []string
	expressions := false
	for _, e := range entries {
		paths = append(paths, e.condition.path)
		expressions = expressions || e.condition.kind == regexPath
	}
	expression, ok := spellings(paths, expressions)
	if !ok {
		expression, _ = spellings(nil, true)
	}
	return expression
}

// mixed returns a router of a host whose protection (see guard) differs from the protection of the host's first
// router. The parameter entries has the conditions of the host, each with its router. The result is nil if all
// routers have the same protection. The result is also nil if no condition tests the path: then the spelling of a
// path makes no difference.
func mixed(entries []entry) *router {
	if !slices.ContainsFunc(entries, func(e entry) bool { return e.condition.kind != anyPath }) {
		return nil
	}
	for _, e := range entries {
		if e.guard(e.site) != entries[0].guard(e.site) {
			return e.router
		}
	}
	return nil
}

// notRewritten is the reason of rules whose path, or redirect, cannot be expressed.
const notRewritten = "the path would be rewritten within a segment, or changed or redirected in a way that cannot be expressed"

// whyClosed returns why one of the entry's rules answers 500, "" if it does not.
func (e entry) whyClosed(rule any) string {
	if at(rule, "backendRefs") != nil || at(rule, "filters") != nil {
		return ""
	}
	return e.id() + ": " + cmp.Or(e.closedWhy, notRewritten)
}

// rules returns the HTTPRoute rules for one condition of a router on one host. The matches whose requests must be
// answered with 500 are in a separate rule. This rule has no backendRefs and no filters.
func (e entry) rules() []any {
	var open, closed []any
	_, ok := e.router.rewrite(e.condition)
	to, certain := e.effect.redirectAt(e.site)
	ok = ok && certain
	for _, m := range e.matches {
		prefix := e.rewrite != nil && e.rewrite["replacePrefixMatch"] != nil
		if e.closed != "" || !ok || prefix && m.kind != "PathPrefix" {
			closed = append(closed, m.fields())
		} else {
			open = append(open, m.fields())
		}
	}
	var rules []any
	if len(open) > 0 {
		rule := map[string]any{"matches": open}
		if to != nil {
			rule["filters"] = []any{map[string]any{"type": "RequestRedirect", "requestRedirect": to}}
		} else {
			rule["backendRefs"] = e.backends.refs
			if filters := e.filters(); len(filters) > 0 {
				rule["filters"] = filters
			}
		}
		rules = append(rules, rule)
	}
	if len(closed) > 0 {
		rules = append(rules, map[string]any{"matches": closed})
		if e.closed == "" {
			e.report.protecting(e.place, e.id(), "answers 500 where "+notRewritten, "", "middlewares")
		}
	}
	return rules
}

// filters returns the HTTPRoute filters for a rule with backends: mirrors, URL rewrite, and header changes of
// the router's service and middlewares.
func (e entry) filters() []any {
	filters := slices.Clone(e.backends.mirrors)
	rewrite := map[string]any{}
	if e.effect.host != "" {
		rewrite["hostname"] = e.effect.host
	}
	if e.rewrite != nil {
		rewrite["path"] = e.rewrite
	}
	if len(rewrite) > 0 {
		filters = append(filters, map[string]any{"type": "URLRewrite", "urlRewrite": rewrite})
	}
	response := maps.Clone(e.effect.response)
	if e.site.tls && e.effect.transport != "" {
		response["strict-transport-security"] = e.effect.transport
	}
	for _, headers := range []struct {
		filter, field string
		values        map[string]string
	}{{"RequestHeaderModifier", "requestHeaderModifier", e.effect.request}, {"ResponseHeaderModifier", "responseHeaderModifier", response}} {
		modifier := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(headers.values)) {
			if value := headers.values[name]; value == "" {
				modifier["remove"] = append(list(modifier["remove"]), name)
			} else {
				modifier["set"] = append(list(modifier["set"]), map[string]any{"name": name, "value": value})
			}
		}
		if len(modifier) > 0 {
			filters = append(filters, map[string]any{"type": headers.filter, headers.field: modifier})
		}
	}
	return filters
}

// rewrite returns how the middlewares of the router change the path of requests that meet the condition c. The
// result path is the field path of a URLRewrite filter. It is nil with ok true if the path does not change. ok
// is false if a URLRewrite filter cannot express the change.
func (r *router) rewrite(c condition) (path map[string]any, ok bool) {
	before, after, whole := "/", "", c.kind == exactPath
	if c.path != "" && c.kind != regexPath {
		before = c.path
	}
	after = before
	for _, step := range r.effect.paths {
		switch step.kind {
		case "replace":
			after, whole = step.values[0], true
		case "add":
			after = strings.TrimSuffix(step.values[0], "/") + "/" + strings.TrimPrefix(after, "/")
		case "strip":
			i := slices.IndexFunc(step.values, func(p string) bool { return strings.HasPrefix(after, p) })
			longer := slices.ContainsFunc(step.values, func(p string) bool { return p != after && strings.HasPrefix(p, after) })
			switch {
			case !whole && longer, c.kind == regexPath:
				return nil, false
			case i >= 0:
				after = "/" + strings.TrimPrefix(strings.TrimPrefix(after, step.values[i]), "/")
			}
		}
	}
	switch {
	case len(r.effect.paths) == 0 || after == before && (whole == (c.kind == exactPath)):
		return nil, true
	case whole:
		return map[string]any{"type": "ReplaceFullPath", "replaceFullPath": after}, true
	case c.kind == regexPath || c.kind == textPrefix && strings.HasSuffix(c.path, "/"):
		return nil, false
	}
	return map[string]any{"type": "ReplacePrefixMatch", "replacePrefixMatch": after}, true
}

// policy adds the TrafficPolicies of a router. The parameter targets has the targetRefs that name the rules of
// the router. If there are more than maxRules of them, policy adds several TrafficPolicies, each with at most
// maxRules targetRefs. It adds none if the router needs no policy.
func (w *traefikWriter) policy(r *router, targets []any) {
	spec := maps.Clone(r.effect.policy)
	if r.backends.rewriteHost && r.effect.host == "" {
		spec["autoHostRewrite"] = true
	}
	for part := 0; part*maxRules < len(targets) && len(spec) > 0; part++ {
		some := maps.Clone(spec)
		some["targetRefs"] = targets[part*maxRules : min(len(targets), (part+1)*maxRules)]
		name := w.objects.name("TrafficPolicy", r.name)
		w.objects.put(api.Group+"/"+api.Version, api.KindTrafficPolicy, name, some)
	}
}
