package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/manifest"
)

// Ingress imports Ingresses so that requests are answered as by ingress-nginx. It also imports the other objects of
// the input, such as Services, EndpointSlices and Secrets. It returns an error only if the schemas cannot be loaded.
func Ingress(inputs []Input, options Options) (*Objects, error) {
	o, err := newObjects(inputs, options)
	if err != nil {
		return nil, err
	}
	classes := &ingressClasses{objects: o.objects, imported: options.IngressClasses}
	n := &nginx{report: o.report, objects: o.objects, accept: o.accept, classes: classes, hosts: ingressHosts{}}
	var ingresses, others []*item
	for _, object := range o.objects.all {
		o.surroundings.limitedAddresses(object)
		clean(o.report, object)
		if object.isCore("ConfigMap") {
			controllerSettings(o.report, o.accept, object)
		}
		switch {
		case !isIngress(object) || o.accept.contains(object.name(), object.key.GroupKind().String()):
			o.classifier.classify(object)
		case classes.otherClass(object) != "":
			others = append(others, object)
		default:
			ingresses = append(ingresses, object)
		}
		object.left = object.left || isIngress(object)
	}
	// If two Ingresses have the same path, ingress-nginx uses the older Ingress.
	slices.SortStableFunc(ingresses, func(a, b *item) int {
		created := func(i *item) string { return cmp.Or(text(at(i.fields, "metadata", "creationTimestamp")), "9") }
		return cmp.Or(strings.Compare(created(a), created(b)), manifest.CompareKeys(a.key, b.key))
	})
	for _, ingress := range ingresses {
		n.read(ingress)
	}
	// A default backend gets only requests that no rule of any Ingress matches. So its paths are added last.
	for _, path := range n.defaults {
		n.keep(path)
	}
	for _, ingress := range others {
		n.leaveOther(ingress)
	}
	if unnamed := n.hosts[""]; unnamed != nil {
		unnamed.closed = cmp.Or(unnamed.closed, n.lostAlias)
	}
	n.redirectNames()
	n.passConnections()
	newRouteWriter(o.report, o.objects, n.hosts).write(n.canaries)
	n.outcomes()
	o.finish()
	return o, nil
}

// isIngress reports whether an object is an Ingress.
func isIngress(object *item) bool {
	return object.key.Kind == "Ingress" && (object.key.Group == "networking.k8s.io" || object.key.Group == "extensions")
}

// nginx reads all Ingresses, and collects their paths and settings by host, as ingress-nginx does.
type nginx struct {
	*report
	objects     *collection
	accept      *acceptance
	classes     *ingressClasses
	hosts       ingressHosts
	redirecting []*settings    // with from-to-www-redirect
	defaults    []*ingressPath // of spec.defaultBackend
	canaries    []*ingressPath // of Ingresses with the annotation canary
	all         []*ingressPath // all paths of imported Ingresses
	// lostAlias is the reason why the routes without a hostname answer 500, "" if they do not.
	lostAlias string
}

// ingressPath is one path of an Ingress on one host. It corresponds to a location block of nginx.
type ingressPath struct {
	ingress  *item
	settings *settings
	host     string
	path     string
	pathType string
	field    string // the path of the field in the Ingress
	service  string
	port     int64
	closed   string       // the reason why this path answers 500, besides settings.closed; "" if there is none
	canary   *ingressPath // gets a part of the requests; nil for none
	// left is the reason why no rule is written for the path, "" if there is one.
	left string
	// unreached is the reason why no request reaches the backend, also in nginx, "" if one may.
	unreached string
	// backendTold is the index of the verdict about the backend, -1 for none.
	backendTold int
}

// created returns the creationTimestamp of the path's Ingress. It returns "" if the Ingress has none.
func (p *ingressPath) created() string {
	return text(at(p.ingress.fields, "metadata", "creationTimestamp"))
}

// read adds the paths, certificates and settings of one Ingress to its hosts. The paths of a canary are added to
// n.canaries instead, and the paths of a default backend to n.defaults. Each value in the Ingress gets a verdict.
// If import does not know a field, all paths of the Ingress answer 500.
func (n *nginx) read(ingress *item) {
	before := len(n.verdicts)
	s := n.settings(ingress)
	addVerdict(n.report, ingress, Same, "read", "apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.labels", "metadata.creationTimestamp")
	addVerdict(n.report, ingress, Different, "its class is imported; gatefold has none", "spec.ingressClassName")
	for _, path := range n.paths(ingress, s) {
		n.all = append(n.all, path)
		if path.field == "spec.defaultBackend" {
			n.defaults = append(n.defaults, path)
			continue
		}
		n.keep(path)
	}
	for i, entry := range list(at(ingress.fields, "spec", "tls")) {
		n.readTLS(ingress, entry, fmt.Sprintf("spec.tls[%d]", i))
	}
	var unknown []string
	Leaves(ingress.fields, func(leaf string, _ any) {
		if !slices.ContainsFunc(n.verdicts[before:], func(v Verdict) bool { return v.Covers(ingress.name(), leaf) && len(v.Fields) > 0 }) {
			unknown = append(unknown, leaf)
		}
	})
	if len(unknown) > 0 {
		s.failClosed("import does not know it, nor what it protects", unknown...)
	}
	for _, name := range s.hosts {
		if s.closedHost != "" {
			n.hosts.get(name).closed = s.closedHost
		}
		n.hosts.get(name).regex = n.hosts.get(name).regex || !s.canary && (s.regex || s.rewrite != "")
		n.hosts.alias(name, s.aliases)
	}
	if s.toWWW {
		n.redirecting = append(n.redirecting, s)
	}
}

// addVerdict adds a verdict about the given fields of an Ingress. Fields that the Ingress does not have are
// left out of the verdict. If the Ingress has none of the fields, there is no verdict.
func addVerdict(r *report, ingress *item, class Class, message string, fields ...string) {
	var there []string
	for _, field := range fields {
		if value, _ := lookup(ingress.fields, parse(field)); value != nil {
			there = append(there, field)
		}
	}
	if len(there) > 0 {
		r.add(class, ingress.place, ingress.name(), message, there...)
	}
}

// paths returns the paths of an Ingress, and sets s.hosts to the hosts of its rules. A default backend becomes
// the path / of each of these hosts. If there are none, it becomes the path / of the host "" (all hosts), and
// s.hosts has only this host. Rules with an invalid host are left out.
func (n *nginx) paths(ingress *item, s *settings) []*ingressPath {
	var all []*ingressPath
	for i, rule := range list(ingress.spec()["rules"]) {
		host := strings.ToLower(text(at(rule, "host")))
		field := fmt.Sprintf("spec.rules[%d]", i)
		_, isText := at(rule, "host").(string)
		if at(rule, "host") != nil && !isText || host != "" && len(validation.IsDNS1123Subdomain(strings.TrimPrefix(host, "*."))) > 0 {
			n.protecting(ingress.place, ingress.name(), "left out: the host is no DNS name", "", field)
			continue
		}
		addVerdict(n.report, ingress, Same, "the hostname of a route", field+".host")
		s.hosts = append(s.hosts, host)
		for j, path := range list(at(rule, "http", "paths")) {
			all = append(all, n.path(ingress, s, host, path, fmt.Sprintf("%s.http.paths[%d]", field, j)))
		}
	}
	if backend := ingress.spec()["defaultBackend"]; backend != nil {
		hosts := s.hosts
		if len(hosts) == 0 {
			hosts = []string{""}
			s.hosts = hosts
		}
		for _, host := range slices.Compact(slices.Sorted(slices.Values(hosts))) {
			path := n.path(ingress, s, host, map[string]any{"path": "/", "pathType": "Prefix", "backend": backend}, "spec.defaultBackend")
			all = append(all, path)
		}
	}
	return all
}

// path returns one path of an Ingress. The parameter value is the entry in the Ingress, and the parameter field is
// where the entry is in the Ingress, for verdicts. If the backend is unknown, this path answers 500. If only the
// path or its type is invalid, all paths of the host answer 500.
func (n *nginx) path(ingress *item, s *settings, host string, value any, field string) *ingressPath {
	p := &ingressPath{
		ingress: ingress, settings: s, host: host, field: field,
		path: cmp.Or(text(at(value, "path")), "/"), pathType: cmp.Or(text(at(value, "pathType")), "ImplementationSpecific"),
		service: cmp.Or(text(at(value, "backend", "service", "name")), text(at(value, "backend", "serviceName"))),
	}
	addVerdict(n.report, ingress, Same, "the match of a rule", field+".path", field+".pathType")
	p.backendTold = -1
	for _, backend := range []string{field + ".backend", field} { // a default backend has no path
		before := len(n.verdicts)
		addVerdict(n.report, ingress, Same, "the backend of a rule", backend+".service", backend+".serviceName", backend+".servicePort")
		if len(n.verdicts) > before {
			p.backendTold = before
		}
	}
	p.port = portOf(n.objects, ingress.key.Namespace, p.service, at(value, "backend"))
	switch {
	case p.service == "" || p.port <= 0 || p.port > 65535:
		p.closed = "its backend is no Service with a port that is known; give the Service to import, too"
	case !strings.HasPrefix(p.path, "/"):
		n.hosts.get(host).closed = "a path that does not begin with /"
	case p.pathType != "Exact" && p.pathType != "Prefix" && p.pathType != "ImplementationSpecific":
		n.hosts.get(host).closed = "a path of an unknown type"
	}
	if p.closed != "" {
		n.add(Refused, ingress.place, ingress.name(), "answers 500: "+p.closed, field+".backend")
	}
	return p
}

// portOf returns the port number of a backend of an Ingress, in API version v1 or v1beta1. A port name is
// looked up in the Service. The result is 0 if the port is unknown.
func portOf(objects *collection, namespace, service string, backend any) int64 {
	port := cmp.Or(at(backend, "service", "port", "number"), at(backend, "servicePort"))
	if name := cmp.Or(text(at(backend, "service", "port", "name")), text(port)); name != "" {
		return portNamed(objects, namespace, service, name)
	}
	number, _ := port.(int64)
	return number
}

// portNamed returns the number of the port with the given name of a Service. It returns 0 if the Service is not in
// the input, or has no such port.
func portNamed(objects *collection, namespace, service, name string) int64 {
	found := objects.find(manifest.Key{Kind: "Service", Namespace: namespace, Name: service})
	if found == nil {
		return 0
	}
	for _, port := range list(found.spec()["ports"]) {
		if text(at(port, "name")) == name {
			number, _ := at(port, "port").(int64)
			return number
		}
	}
	return 0
}

// matchesAs reports whether nginx has one location for both paths. That is so if path and pathType are the same. For
// the path "/", the pathTypes may also differ, if neither of them is Exact.
func (p *ingressPath) matchesAs(o *ingressPath) bool {
	return p.path == o.path && (p.pathType == o.pathType || p.path == "/" && p.pathType != "Exact" && o.pathType != "Exact")
}

// keep adds the path p to its host, or to n.canaries if its Ingress is a canary. If the host already has the same
// path of an earlier Ingress, keep leaves out p: nginx uses the older Ingress. But if the age of one of the two
// Ingresses is unknown, and they protect the path differently, the path that remains answers 500. A path p of
// spec.defaultBackend never has this effect.
func (n *nginx) keep(p *ingressPath) {
	if p.settings.canary {
		n.canaries = append(n.canaries, p)
		return
	}
	host := n.hosts.get(p.host)
	for _, other := range host.paths {
		if other.matchesAs(p) {
			aged := p.created() != "" && other.created() != "" || p.field == "spec.defaultBackend"
			if !aged && guard(&location{ingressPath: p}) != guard(&location{ingressPath: other}) {
				other.closed = "two Ingresses have the path and protect it differently, and import does not know which is older"
				n.protecting(p.ingress.place, p.ingress.name(), "answers 500: "+other.closed, "export them with their creationTimestamp", p.field)
			}
			message := "left out: " + other.ingress.name() + " is older and has the same path; nginx takes that one"
			if p.field == "spec.defaultBackend" {
				message = "not for the host " + p.host + ": " + other.ingress.name() + " has all its paths"
			}
			n.add(Different, p.ingress.place, p.ingress.name(), message, p.field)
			p.left = message
			return
		}
	}
	host.paths = append(host.paths, p)
}

// readTLS handles one entry of spec.tls. The entry's Secret becomes the certificate of the entry's hosts, except of
// hosts that have a certificate already. An entry without hosts is for all hosts of the Ingress. If the entry has
// no Secret, its hosts answer 500.
func (n *nginx) readTLS(ingress *item, entry any, field string) {
	secret := text(at(entry, "secretName"))
	var hosts []string
	for _, host := range list(at(entry, "hosts")) {
		hosts = append(hosts, strings.ToLower(text(host)))
	}
	message := "a listener with this certificate"
	if len(hosts) == 0 {
		message += ", for all hosts of the Ingress; nginx goes by the names in the certificate"
		for _, rule := range list(ingress.spec()["rules"]) {
			hosts = append(hosts, strings.ToLower(text(at(rule, "host"))))
		}
	}
	if secret == "" {
		n.protecting(ingress.place, ingress.name(), "the hosts are closed: they have no certificate of their own, and gatefold has no default one", "name a Secret", field)
		for _, host := range hosts {
			n.hosts.get(host).closed = "no certificate"
		}
		return
	}
	n.add(Different, ingress.place, ingress.name(), message, field)
	for _, host := range hosts {
		if n.hosts.get(host).certificate.IsZero() {
			n.hosts.get(host).certificate = manifest.Key{Kind: "Secret", Namespace: ingress.key.Namespace, Name: secret}
		}
	}
}
