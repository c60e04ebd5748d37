package importer

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// The Gateway that serves imported Ingresses, and limits of the objects that are written.
const (
	ingressGateway   = "ingress"
	ingressNamespace = "ingress"
	maxRules         = 16   // of a route, and the most targets of a policy
	maxWritten       = 15   // rules of a route that import writes, so that closeSpellings can add one
	maxPaths         = 1400 // of a host: the names of its routes have a number of two digits
	maxCertificates  = 63   // besides the listener for http
)

// write adds the Gateway, and the routes and policies of all hosts. If there are too many paths or
// certificates, it blocks the import.
func (n *nginx) write() {
	for _, host := range n.hosts {
		if len(host.paths) > maxPaths {
			n.block(place{}, "", fmt.Sprintf("more than %d paths of a host", maxPaths), "import the Ingresses in several parts")
			return
		}
	}
	n.joinCanaries()
	listeners := []any{map[string]any{"name": "http", "port": int64(80), "protocol": "HTTP", "allowedRoutes": fromAll()}}
	w := &routeWriter{nginx: n, targets: map[string][]any{}, settings: map[string]*settings{}, grants: map[string][]any{}}
	names, sections := map[string][]string{}, map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(n.hosts)) {
		host := n.hosts[name]
		names[name] = []string{name}
		for _, alias := range host.aliases {
			if n.hosts[alias] == nil && !slices.Contains(names[name], alias) {
				names[name] = append(names[name], alias)
			}
		}
		if secret := host.certificate; !secret.IsZero() {
			for _, listener := range names[name] {
				section := fmt.Sprintf("https-%d", len(listeners))
				sections[name] = append(sections[name], section)
				listeners = append(listeners, httpsListener(section, listener, secret))
			}
			w.grants[secret.Namespace] = append(w.grants[secret.Namespace], map[string]any{"group": "", "kind": "Secret", "name": secret.Name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.hosts)) {
		// A host without its own certificate is served with that of a wildcard. Routes of other hosts do not get its
		// requests.
		own := sections[name]
		for _, alias := range names[name] {
			if len(sections[name]) == 0 {
				own = append(slices.Clone(own), around(alias, sections)...)
			}
		}
		slices.Sort(own)
		w.writeHost(n.hosts[name], names[name], slices.Compact(own))
	}
	if len(n.hosts) == 0 {
		return
	}
	if len(listeners) > maxCertificates+1 {
		n.block(place{}, "", fmt.Sprintf("more than %d hosts with certificates", maxCertificates), "import the Ingresses in several parts")
	}
	n.put(manifest.Key{Group: gatewayGroup, Kind: "Gateway", Namespace: ingressNamespace, Name: ingressGateway}, gatewayGroup+"/v1",
		map[string]any{"gatewayClassName": "gatefold", "listeners": listeners})
	w.writePolicies()
}

// around returns the names of the listeners of the closest wildcard that contains a name. If there is no such
// wildcard, it returns those of the listeners for all names.
func around(name string, sections map[string][]string) []string {
	for name != "" {
		_, name, _ = strings.Cut(strings.TrimPrefix(name, "*."), ".")
		if found := sections["*."+name]; len(found) > 0 {
			return found
		}
	}
	return sections[""]
}

// fromAll returns allowedRoutes that allow routes of all namespaces.
func fromAll() any { return map[string]any{"namespaces": map[string]any{"from": "All"}} }

// httpsListener returns a listener with a certificate. host is "" for all hosts.
func httpsListener(name, host string, secret manifest.Key) map[string]any {
	listener := map[string]any{
		"name": name, "port": int64(443), "protocol": "HTTPS", "allowedRoutes": fromAll(),
		"tls": map[string]any{"certificateRefs": []any{map[string]any{"name": secret.Name, "namespace": secret.Namespace}}},
	}
	if host != "" {
		listener["hostname"] = host
	}
	return listener
}

// joinCanaries assigns each canary to the path with which it shares requests: the same path of the same host,
// in an Ingress of the same namespace. A canary is left out if there is no such path, if the path has a canary
// already, or if the canary answers 500.
func (n *nginx) joinCanaries() {
	for _, canary := range n.canaries {
		joined := false
		for _, p := range n.host(canary.host).paths {
			if p.path == canary.path && p.canary == nil && p.ingress.key.Namespace == canary.ingress.key.Namespace && canary.closed+canary.settings.closed == "" {
				p.canary, joined = canary, true
			}
		}
		if !joined {
			n.add(Different, canary.ingress.place, canary.ingress.name(), "left out: no other Ingress has the path, or it has a canary already", canary.field)
		}
	}
}

// routeWriter writes routes. It records the settings of each Ingress, and the rules that need its policy.
type routeWriter struct {
	*nginx
	targets  map[string][]any // by the name of an Ingress
	settings map[string]*settings
	grants   map[string][]any // Secrets by namespace
}

// writeHost writes the routes of a host: for http and, if sections has listeners, also for https. The parameter
// names has the hostnames of the host. If the host is closed, it writes only a rule that answers 500.
func (w *routeWriter) writeHost(host *ingressHost, names, sections []string) {
	paths := w.locations(host)
	spelled := w.spelled(host, paths)
	if host.closed != "" {
		w.closeHost(host, paths, names, sections)
		return
	}
	byNamespace := map[string][]*location{}
	for _, l := range paths {
		byNamespace[l.ingress.key.Namespace] = append(byNamespace[l.ingress.key.Namespace], l)
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		if spelled != nil { // in each route: all regular expressions have one precedence
			byNamespace[namespace] = slices.Insert(byNamespace[namespace], 0, spelled)
		}
		w.route(namespace, "http", names, []string{"http"}, byNamespace[namespace])
		if len(sections) > 0 {
			w.route(namespace, "https", names, sections, byNamespace[namespace])
		}
	}
}

// closeHost writes a rule that answers 500 to every request for a host.
func (w *routeWriter) closeHost(host *ingressHost, paths []*location, names, sections []string) {
	namespace := ingressNamespace
	for _, l := range paths {
		w.protecting(l.ingress.place, l.ingress.name(), "the host answers 500: "+host.closed, "", l.field)
		namespace = l.ingress.key.Namespace
	}
	closed := &location{ingressPath: &ingressPath{closed: host.closed, settings: &settings{}}, matches: []any{pathMatch("PathPrefix", "/")}}
	w.route(namespace, "closed", names, append([]string{"http"}, sections...), []*location{closed})
}

// pathMatch returns a match of a route with only a path.
func pathMatch(kind, value string) map[string]any {
	return map[string]any{"path": map[string]any{"type": kind, "value": value}}
}

// route writes the rules of a host for one namespace. It writes several routes if there are more than
// maxWritten rules. It records the rules with backends in w.targets, for the policy of their Ingress.
func (w *routeWriter) route(namespace, scheme string, names, sections []string, paths []*location) {
	var parents []any
	for _, section := range sections {
		parents = append(parents, map[string]any{"name": ingressGateway, "namespace": ingressNamespace, "sectionName": section})
	}
	var rules []any
	var owners []*location
	for _, l := range paths {
		for _, rule := range w.rules(l, scheme) {
			rules, owners = append(rules, rule), append(owners, l)
		}
	}
	for part := 0; part*maxWritten < len(rules); part++ {
		end := min(len(rules), (part+1)*maxWritten)
		spec := map[string]any{"parentRefs": parents, "rules": rules[part*maxWritten : end : end]}
		name := fmt.Sprintf("%s-%s-%02d", strings.Replace(cmp.Or(names[0], "any-host"), "*", "wildcard", 1), scheme, part)
		if names[0] != "" {
			var hostnames []any
			for _, host := range names {
				hostnames = append(hostnames, host)
			}
			spec["hostnames"] = hostnames
		}
		w.put(manifest.Key{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: namespace, Name: name}, gatewayGroup+"/v1", spec)
		for i, rule := range spec["rules"].([]any) {
			fields := rule.(map[string]any)
			fields["name"] = fmt.Sprintf("rule-%d", i)
			owner := owners[part*maxWritten+i]
			if owner.ingress != nil && fields["backendRefs"] != nil {
				ingress := owner.ingress.name()
				w.settings[ingress] = owner.settings
				w.targets[ingress] = append(w.targets[ingress], map[string]any{"group": gatewayGroup, "kind": "HTTPRoute", "name": name, "sectionName": fields["name"]})
			}
		}
	}
}

// rules returns the rules of a location. There are several if the location has a canary. A rule that must
// answer 500 has only matches.
func (w *routeWriter) rules(l *location, scheme string) []any {
	s := l.settings
	if reason := cmp.Or(l.closed, s.closed); reason != "" {
		return []any{map[string]any{"matches": l.matches}}
	}
	if scheme == "http" && (s.forceRedirect || s.sslRedirect && w.certified(l.host)) {
		redirect := map[string]any{"scheme": "https", "port": int64(443), "statusCode": int64(308)}
		return []any{map[string]any{"matches": l.matches, "filters": []any{map[string]any{"type": "RequestRedirect", "requestRedirect": redirect}}}}
	}
	if s.redirect != nil {
		return []any{map[string]any{"matches": l.matches, "filters": []any{map[string]any{"type": "RequestRedirect", "requestRedirect": s.redirect}}}}
	}
	var filters []any
	rewrite := map[string]any{}
	if s.upstreamHost != "" {
		rewrite["hostname"] = s.upstreamHost
	}
	if l.rewrite != nil {
		rewrite["path"] = l.rewrite
	}
	if len(rewrite) > 0 {
		filters = append(filters, map[string]any{"type": "URLRewrite", "urlRewrite": rewrite})
	}
	return w.split(l, filters)
}

// certified reports whether nginx has a certificate for a host: for the host itself, or for the wildcard of its
// domain.
func (n *nginx) certified(name string) bool {
	_, above, _ := strings.Cut(name, ".")
	for _, host := range []string{name, "*." + above} {
		if n.hosts[host] != nil && !n.hosts[host].certificate.IsZero() {
			return true
		}
	}
	return false
}

// split returns the rules of a location with its backends. If it has a canary, the last rule splits requests by
// weight. The rules before it have header matches that select the canary or the main backend. If the location
// is ordered, there is only the last rule.
func (w *routeWriter) split(l *location, filters []any) []any {
	rule := func(matches []any, backends ...any) map[string]any {
		r := map[string]any{"matches": matches, "backendRefs": backends}
		if len(filters) > 0 {
			r["filters"] = filters
		}
		return r
	}
	main := w.backend(l.ingressPath)
	if l.canary == nil {
		return []any{rule(l.matches, main)}
	}
	canary, c := w.backend(l.canary), l.canary.settings
	var rules []any
	if !l.ordered {
		for _, header := range canaryHeaders(c) {
			to := main
			if header.canary {
				to = canary
			}
			rules = append(rules, rule(withHeader(l.matches, header.match), to))
		}
	} else if c.header+c.cookie != "" {
		w.add(Different, l.canary.ingress.place, l.canary.ingress.name(), "the header and the cookie have no effect: the host has regular expressions", l.canary.field)
	}
	weight := min(c.weight, c.total)
	weighted := func(ref map[string]any, weight int64) map[string]any {
		ref = maps.Clone(ref)
		ref["weight"] = weight
		return ref
	}
	return append(rules, rule(l.matches, weighted(main, c.total-weight), weighted(canary, weight)))
}

// canaryHeader is a header match for requests that get the canary, or that do not (canary is false).
type canaryHeader struct {
	match  map[string]any
	canary bool
}

// canaryHeaders returns the header matches that select the canary or the main backend. They are in the order of
// ingress-nginx: the header first, then the cookie.
func canaryHeaders(c *settings) []canaryHeader {
	header := func(kind, name, value string) map[string]any {
		return map[string]any{"type": kind, "name": name, "value": value}
	}
	var all []canaryHeader
	switch {
	case c.header != "" && c.headerValue != "":
		all = append(all, canaryHeader{header("Exact", c.header, c.headerValue), true})
	case c.header != "" && c.headerRegexp != "":
		all = append(all, canaryHeader{header("RegularExpression", c.header, ".*("+c.headerRegexp+").*"), true})
	case c.header != "":
		all = append(all, canaryHeader{header("Exact", c.header, "always"), true}, canaryHeader{header("Exact", c.header, "never"), false})
	}
	if c.cookie != "" {
		for value, canary := range map[string]bool{"always": true, "never": false} {
			pattern := `(.*;\s*)?` + regexp.QuoteMeta(c.cookie) + "=" + value + `(\s*;.*)?`
			all = append(all, canaryHeader{header("RegularExpression", "Cookie", pattern), canary})
		}
		slices.SortStableFunc(all, func(a, b canaryHeader) int {
			if text(a.match["name"]) == text(b.match["name"]) {
				return strings.Compare(text(a.match["value"]), text(b.match["value"]))
			}
			return 0
		})
	}
	return all
}

// withHeader returns copies of the matches with a header.
func withHeader(matches []any, header map[string]any) []any {
	var all []any
	for _, match := range matches {
		with := maps.Clone(match.(map[string]any))
		with["headers"] = []any{header}
		all = append(all, with)
	}
	return all
}

// backend returns the backendRef of a path. If the Ingress uses gRPC, it sets the Service's appProtocol to h2c.
func (w *routeWriter) backend(p *ingressPath) map[string]any {
	if service := w.find(manifest.Key{Kind: "Service", Namespace: p.ingress.key.Namespace, Name: p.service}); service != nil && p.settings.protocol == "GRPC" {
		for _, port := range list(service.spec()["ports"]) {
			if number, _ := at(port, "port").(int64); number == p.port {
				port.(map[string]any)["appProtocol"] = "kubernetes.io/h2c"
			}
		}
	}
	return map[string]any{"name": p.service, "port": p.port}
}

// writePolicies writes the TrafficPolicies, and the ReferenceGrants for certificates.
func (w *routeWriter) writePolicies() {
	for _, name := range slices.Sorted(maps.Keys(w.targets)) {
		s, targets := w.settings[name], w.targets[name]
		for part := 0; part*maxRules < len(targets) && len(s.policy) > 0; part++ {
			spec := maps.Clone(s.policy)
			spec["targetRefs"] = targets[part*maxRules : min(len(targets), (part+1)*maxRules)]
			key := manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: s.ingress.key.Namespace, Name: fmt.Sprintf("%s-%02d", s.ingress.key.Name, part)}
			w.put(key, api.Group+"/"+api.Version, spec)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(w.grants)) {
		w.put(manifest.Key{Group: gatewayGroup, Kind: "ReferenceGrant", Namespace: namespace, Name: "ingress-certificates"}, gatewayGroup+"/v1beta1", map[string]any{
			"from": []any{map[string]any{"group": gatewayGroup, "kind": "Gateway", "namespace": ingressNamespace}},
			"to":   distinct(w.grants[namespace]),
		})
	}
}

// distinct returns the references without duplicates of the same name.
func distinct(refs []any) []any {
	var all []any
	for _, ref := range refs {
		if !slices.ContainsFunc(all, func(other any) bool { return text(at(other, "name")) == text(at(ref, "name")) }) {
			all = append(all, ref)
		}
	}
	return all
}
