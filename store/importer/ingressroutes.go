package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
)

// The Gateway that serves imported Ingresses, and limits of the objects that are written.
const (
	ingressGateway   = "ingress"
	ingressNamespace = "ingress"
	// maxRules is how many rules the schema allows in a route, and how many targets in a policy.
	maxRules = 16
	// maxWritten is how many rules import writes into a route. closeSpellings can add one more rule.
	maxWritten = 15
	// maxPaths is how many paths a host may have. The names of the host's routes end in a number of two digits.
	// With one rule for each path, and maxWritten rules in each route, two digits are enough.
	maxPaths = 1400
	// maxCertificates is how many listeners with a certificate import writes. The Gateway also has a listener
	// for HTTP.
	maxCertificates = 63
)

// routeWriter writes the HTTPRoutes of all hosts. It records which rules belong to which Ingress, and then
// writes a TrafficPolicy for the rules of each Ingress.
type routeWriter struct {
	*report
	objects  *collection
	hosts    ingressHosts
	targets  map[string][]any     // the targetRefs of the policy, by the name of the Ingress
	settings map[string]*settings // by the name of the Ingress
	grants   map[string][]any     // Secrets that the Gateway needs ReferenceGrants for, by namespace
}

// newRouteWriter returns a routeWriter for the routes of the given hosts. The routeWriter adds the routes to the
// collection in the parameter objects.
func newRouteWriter(r *report, objects *collection, hosts ingressHosts) *routeWriter {
	return &routeWriter{report: r, objects: objects, hosts: hosts, targets: map[string][]any{}, settings: map[string]*settings{}, grants: map[string][]any{}}
}

// write adds the Gateway, and the routes and policies of all hosts, to the objects that import writes. The
// parameter canaries has the paths of canary Ingresses (see joinCanaries). If there are too many paths or
// certificates, write blocks the import.
func (w *routeWriter) write(canaries []*ingressPath) {
	for _, host := range w.hosts {
		if len(host.paths) > maxPaths {
			w.block(place{}, "", fmt.Sprintf("more than %d paths of a host", maxPaths), "import the Ingresses in several parts")
			return
		}
	}
	joinCanaries(w.report, w.hosts, canaries)
	listeners := []any{map[string]any{"name": "http", "port": int64(80), "protocol": "HTTP", "allowedRoutes": fromAll()}}
	names, sections := map[string][]string{}, map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		host := w.hosts[name]
		names[name] = []string{name}
		for _, alias := range host.aliases {
			if w.hosts[alias] == nil && !slices.Contains(names[name], alias) {
				names[name] = append(names[name], alias)
			}
		}
		if host.passthrough != nil {
			listeners = append(listeners, w.writePassthrough(host, names[name], len(listeners))...)
			continue
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
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		// A host without its own certificate is served with that of a wildcard. Routes of other hosts do not get its
		// requests.
		own := sections[name]
		for _, alias := range names[name] {
			if len(sections[name]) == 0 {
				own = append(slices.Clone(own), around(alias, sections)...)
			}
		}
		slices.Sort(own)
		w.writeHost(w.hosts[name], names[name], slices.Compact(own))
	}
	if len(w.hosts) == 0 {
		return
	}
	if len(listeners) > maxCertificates+1 {
		w.block(place{}, "", fmt.Sprintf("more than %d hosts with certificates", maxCertificates), "import the Ingresses in several parts")
	}
	w.objects.put(manifest.Key{Group: gatewayGroup, Kind: "Gateway", Namespace: ingressNamespace, Name: ingressGateway}, gatewayGroup+"/v1",
		map[string]any{"gatewayClassName": "gatefold", "listeners": listeners})
	w.writePolicies()
}

// writePassthrough writes a TLSRoute to the backend of a host whose connections keep their TLS, and returns its
// listeners, one for each of the host's names. The parameter number is the number of listeners before.
func (w *routeWriter) writePassthrough(host *ingressHost, names []string, number int) (listeners []any) {
	p := host.passthrough
	var parents, hostnames []any
	for i, name := range names {
		section := fmt.Sprintf("tls-%d", number+i)
		listeners = append(listeners, map[string]any{
			"name": section, "port": int64(443), "protocol": "TLS", "hostname": name, "tls": map[string]any{"mode": "Passthrough"}, "allowedRoutes": fromAll(),
		})
		parents = append(parents, map[string]any{"name": ingressGateway, "namespace": ingressNamespace, "sectionName": section})
		hostnames = append(hostnames, name)
	}
	w.objects.put(manifest.Key{Group: gatewayGroup, Kind: "TLSRoute", Namespace: p.ingress.key.Namespace, Name: strings.Replace(names[0], "*", "wildcard", 1)}, gatewayGroup+"/v1",
		map[string]any{"parentRefs": parents, "hostnames": hostnames, "rules": []any{map[string]any{"backendRefs": []any{map[string]any{"name": p.service, "port": p.port}}}}})
	return listeners
}

// around returns the names of the HTTPS listeners that serve a hostname with a wildcard certificate. The map
// sections has the names of listeners by hostname. The closest wildcard counts: *.b.example.com before
// *.example.com. If no wildcard covers the hostname, around returns the listeners without a hostname, which serve
// every host. There may be none.
func around(name string, sections map[string][]string) []string {
	for wildcard := range scope.Wildcards(name) {
		if found := sections[wildcard]; len(found) > 0 {
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

// writeHost writes the HTTPRoutes of a host for HTTP, and also for HTTPS if sections is not empty. The parameter
// sections has the names of the host's HTTPS listeners. The parameter names has the hostnames for the routes.
// If the whole host must answer 500 (host.closed is set), writeHost writes only a rule that does this.
func (w *routeWriter) writeHost(host *ingressHost, names, sections []string) {
	paths := host.locations()
	ambiguous := spelled(w.report, host, paths)
	if host.closed != "" {
		w.closeHost(host, paths, names, sections)
		return
	}
	byNamespace := map[string][]*location{}
	for _, l := range paths {
		byNamespace[l.ingress.key.Namespace] = append(byNamespace[l.ingress.key.Namespace], l)
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		if ambiguous != nil { // in each route: all regular expressions have one precedence
			byNamespace[namespace] = slices.Insert(byNamespace[namespace], 0, ambiguous)
		}
		w.route(namespace, "http", names, []string{"http"}, byNamespace[namespace])
		if len(sections) > 0 {
			w.route(namespace, "https", names, sections, byNamespace[namespace])
		}
	}
}

// closeHost writes a rule that answers 500 to every request for a host. For each path of the host, it also adds a
// Verdict to the report of the import. The parameter names has the hostnames. The parameter sections has the names
// of the host's HTTPS listeners.
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

// route writes an HTTPRoute in the given namespace, or several HTTPRoutes if there are more than maxWritten rules.
// The parameter paths has the paths of one host for which the rules are written. The parameter scheme is "http" or
// "https", or "closed" if the whole host answers 500 (see closeHost). The parameter names has the hostnames, and
// the parameter sections has the names of the listeners. Rules with backends, and closed rules, are recorded in
// w.targets, for the policy of their Ingress: it must apply when somebody opens a closed rule.
func (w *routeWriter) route(namespace, scheme string, names, sections []string, paths []*location) {
	var parents []any
	for _, section := range sections {
		parents = append(parents, map[string]any{"name": ingressGateway, "namespace": ingressNamespace, "sectionName": section})
	}
	var rules []any
	var owners []*location
	closed := w.closedReasons(paths)
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
		route := w.objects.put(manifest.Key{Group: gatewayGroup, Kind: "HTTPRoute", Namespace: namespace, Name: name}, gatewayGroup+"/v1", spec)
		for i, rule := range spec["rules"].([]any) {
			fields := rule.(map[string]any)
			fields["name"] = fmt.Sprintf("rule-%d", i)
			owner := owners[part*maxWritten+i]
			if reason := closed[owner]; reason != "" {
				shutRule(route, i, reason)
			}
			if owner.ingress != nil && (fields["backendRefs"] != nil || closed[owner] != "") {
				ingress := owner.ingress.name()
				w.settings[ingress] = owner.settings
				w.targets[ingress] = append(w.targets[ingress], map[string]any{"group": gatewayGroup, "kind": "HTTPRoute", "name": name, "sectionName": fields["name"]})
			}
		}
	}
}

// closedReasons returns why paths answer 500, for those that do.
func (w *routeWriter) closedReasons(paths []*location) map[*location]string {
	reasons := map[*location]string{}
	for _, l := range paths {
		reason := cmp.Or(l.closed, l.settings.closedWhy)
		if reason != "" && l.ingress != nil {
			reason = l.ingress.name() + ": " + reason
		}
		reasons[l] = reason
	}
	return reasons
}

// rules returns the HTTPRoute rules for one path of a host: one rule, or several if the path has a canary. The
// parameter scheme is "http" or "https", or "closed" if the whole host answers 500 (see closeHost). If requests for
// the path must be answered with 500, the rule has no backendRefs and no filters.
func (w *routeWriter) rules(l *location, scheme string) []any {
	s := l.settings
	if reason := cmp.Or(l.closed, s.closed); reason != "" {
		return []any{map[string]any{"matches": l.matches}}
	}
	if scheme == "http" && (s.forceRedirect || s.sslRedirect && w.hosts.certified(l.host)) {
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
	if l.rewrite != nil && s.prefix != "" {
		set := []any{map[string]any{"name": "X-Forwarded-Prefix", "value": s.prefix}}
		filters = append(filters, map[string]any{"type": "RequestHeaderModifier", "requestHeaderModifier": map[string]any{"set": set}})
	}
	return w.split(l, filters)
}

// backend returns the backendRef of a path. If the Ingress uses gRPC, backend also sets the appProtocol of the
// Service's port to kubernetes.io/h2c.
func (w *routeWriter) backend(p *ingressPath) map[string]any {
	if service := w.objects.find(manifest.Key{Kind: "Service", Namespace: p.ingress.key.Namespace, Name: p.service}); service != nil && p.settings.protocol == "GRPC" {
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
			w.objects.put(key, api.Group+"/"+api.Version, spec)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(w.grants)) {
		w.objects.put(manifest.Key{Group: gatewayGroup, Kind: "ReferenceGrant", Namespace: namespace, Name: "ingress-certificates"}, gatewayGroup+"/v1beta1", map[string]any{
			"from": []any{map[string]any{"group": gatewayGroup, "kind": "Gateway", "namespace": ingressNamespace}},
			"to":   distinct(w.grants[namespace]),
		})
	}
}

// distinct returns the references in refs, but only the first of several references with the same name.
func distinct(refs []any) []any {
	var all []any
	for _, ref := range refs {
		if !slices.ContainsFunc(all, func(other any) bool { return text(at(other, "name")) == text(at(ref, "name")) }) {
			all = append(all, ref)
		}
	}
	return all
}
