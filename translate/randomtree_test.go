package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gatefold/gatefold/translate/policy"
)

// editTree writes or removes one file of a small world: names repeat, so that
// children are shared, chains close to circles, and references miss.
func editTree(r *rand.Rand, files map[string]string) {
	var name, text string
	switch r.IntN(12) {
	case 0:
		name, text = treeGateway(r)
	case 1:
		name, text = treeBackend(pick(r, "a", "b"))
		if r.IntN(3) == 0 {
			name, text = document("gateway.networking.k8s.io/v1", "ReferenceGrant", pick(r, "a", "b"), "g", "spec:\n"+
				"  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: "+pick(r, "a", "b")+"}]\n  to: [{group: gateway.kgateway.dev, kind: Backend}]\n")
		}
	case 2:
		name, text = document("v1", "Namespace", "", pick(r, "a", "b"), "  labels: {team: "+pick(r, "x", "y")+"}\n"+
			pick(r, "", "  annotations: {gatefold.io/hostnames: "+pick(r, "a.example.com", "'*.example.com, b.com'", "b.com", "'!'")+"}\n"))
	case 3:
		name, text = treePolicy(r)
	default:
		name, text = treeRoute(r)
	}
	if r.IntN(7) == 0 {
		delete(files, name)
		return
	}
	files[name] = text
}

func treeGateway(r *rand.Rand) (string, string) {
	return document("gateway.networking.k8s.io/v1", "Gateway", "a", "eg", "spec:\n  gatewayClassName: gatefold\n  listeners:\n"+
		"  - {name: one, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}\n"+
		pick(r, "", "  - {name: two, port: 8081, protocol: HTTP, hostname: '*.example.com', allowedRoutes: {namespaces: {from: All}}}\n"))
}

func treeBackend(namespace string) (string, string) {
	return document("gateway.kgateway.dev/v1alpha1", "Backend", namespace, "s1", "spec: {type: Static, static: {hosts: [{host: 10.0.0.1, port: 80}]}}\n")
}

// treePolicy returns a policy for a route at any level, or for one of its rules.
func treePolicy(r *rand.Rand) (string, string) {
	target := fmt.Sprintf("HTTPRoute, name: r%d%d%s", r.IntN(5), r.IntN(2), pick(r, "", ", sectionName: s0"))
	if r.IntN(5) == 0 {
		target = "Gateway, name: eg" + pick(r, "", ", sectionName: one")
	}
	body := fmt.Sprintf("spec:\n  targetRefs: [{group: gateway.networking.k8s.io, kind: %s}]\n", target)
	body += "  transformation: {" + pick(r, "request", "request", "response") + ": {set: [{name: " + pick(r, "x-t", "x-t", "x-t", "x-t", "host") + ", value: " + pick(r, "a", "b", "'{{ header(\"x-a\") }}'") + "}]}}\n"
	body += pick(r, "", "  timeouts: {request: 60s}\n")
	return document("gateway.kgateway.dev/v1alpha1", "TrafficPolicy", pick(r, "a", "b"), pick(r, "p1", "p2", "p3"), body)
}

// treeRoute returns a route of one of five levels; the deeper, the longer the paths.
// Its name says the level, so that references mostly lead down.
func treeRoute(r *rand.Rand) (string, string) {
	level := r.IntN(5)
	space, name := pick(r, "a", "b"), fmt.Sprintf("r%d%d", level, r.IntN(2))
	meta := randomAge(r) + pick(r, "", "", "  labels: {delegation.kgateway.dev/label: l1}\n")
	annotations := pick(r, "", "", `delegation.kgateway.dev/inherit-parent-matcher: "true", `) +
		pick(r, "", "kgateway.dev/inherited-policy-priority: "+pick(r, policy.Strategies()...)+", ") +
		pick(r, "", fmt.Sprintf("kgateway.dev/route-weight: \"%d\", ", r.IntN(5)-2))
	if annotations != "" {
		meta += "  annotations: {" + strings.TrimSuffix(annotations, ", ") + "}\n"
	}
	body, included := meta+"spec:\n", false
	switch {
	case level == 0:
		body += "  parentRefs: [{name: eg, namespace: a}" + pick(r, "", ", {kind: HTTPRoute, name: r10}") + "]\n" + pick(r, "", "  hostnames: [a.example.com, b.com]\n")
	case r.IntN(3) == 0:
		included = true
		body += fmt.Sprintf("  parentRefs: [{kind: HTTPRoute, name: r%d%d, namespace: %s%s}]\n", level-1, r.IntN(2), pick(r, "a", "b"), pick(r, "", "", ", sectionName: s1"))
		body += pick(r, "", "", "  hostnames: [a.example.com]\n")
	case r.IntN(9) == 0:
		body += "  hostnames: [a.example.com]\n"
	}
	body += "  rules:\n"
	for i := range 1 + r.IntN(3) {
		rule := treeRule{space: space, level: level, path: strings.Repeat("/a", level+r.IntN(2))}
		if included {
			rule.path = pick(r, "", "/b")
		}
		body += fmt.Sprintf("  - name: s%d\n", i) + rule.text(r, included)
	}
	return document("gateway.networking.k8s.io/v1", "HTTPRoute", space, name, body)
}

// treeRule is a rule of a route, whose matches begin with path.
type treeRule struct {
	space string
	level int
	path  string
}

// text returns a rule that answers or hands requests on. A rule that hands them on
// mostly has a prefix, as children need, and so has one that is included.
func (rule treeRule) text(r *rand.Rand, included bool) string {
	match, kind := "{value: "+rule.path+pick(r, "", "", "/b")+"}", r.IntN(10)
	if rule.level == 0 && kind < 5 {
		kind = r.IntN(10)
	}
	if rule.path == "" {
		match = "{value: " + pick(r, "/", "/b", "/x") + "}"
	}
	if r.IntN(10) == 0 || !included && kind < 5 && r.IntN(2) == 0 {
		match = pick(r, "{type: Exact, value: "+rule.path+"/x}", "{type: RegularExpression, value: '"+rule.path+"/[0-9]+'}", "{value: /}", "{type: PathPostfix, value: "+pick(r, "/end", ".html")+"}")
	}
	prefix := strings.HasPrefix(match, "{value")
	matches := "{path: " + match + pick(r, "", "", "", ", method: GET", ", headers: [{name: X-A, value: a}]", ", queryParams: [{name: q, value: '1'}]") + "}"
	if r.IntN(4) == 0 {
		prefix, matches = false, matches+", {path: {value: "+rule.path+"/c}}"
	}
	out := "    matches: [" + matches + "]\n"
	switch kind {
	case 0:
		return out + pick(r, "    filters: [{type: RequestRedirect, requestRedirect: {hostname: y.com}}]\n", rule.filter(r, prefix)+rule.leaf(r))
	case 1, 2, 3, 4:
		return out + rule.filter(r, prefix) + rule.leaf(r)
	case 5, 6:
		return out + pick(r, "", rule.filter(r, prefix)) + "    allowedRoutes: {namespaces: " + pick(r, "{from: All}", "{from: All}", "{from: Same}", "{from: Selector, selector: {matchLabels: {team: x}}}") + "}\n"
	}
	return out + rule.filter(r, prefix) + rule.below(r)
}

// leaf sends to the route's own namespace, or to one that may not want it.
func (rule treeRule) leaf(r *rand.Rand) string {
	return "    backendRefs: [" + treeBackendRef(pick(r, rule.space, rule.space, rule.space, "a", "b")) + "]\n"
}

func treeBackendRef(namespace string) string {
	return "{group: gateway.kgateway.dev, kind: Backend, name: s1, namespace: " + namespace + "}"
}

func (rule treeRule) below(r *rand.Rand) string {
	next := fmt.Sprintf("r%d%d", min(rule.level+1, 4), r.IntN(2))
	below := fmt.Sprintf("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s, namespace: %s}",
		pick(r, "'*'", next, next, next, fmt.Sprintf("r%d%d", r.IntN(5), r.IntN(2))), pick(r, "a", "b"))
	label := "{group: delegation.kgateway.dev, kind: label, name: l1, namespace: " + pick(r, "a", "all") + "}"
	return "    backendRefs: [" + pick(r, below, below, label, below+", "+treeBackendRef(rule.space), below+", "+label) + "]\n"
}

// filter returns a filter for rules of all kinds, or a timeout; prefix tells that
// the rule has one match, a prefix.
func (rule treeRule) filter(r *rand.Rand, prefix bool) string {
	rewrite := pick(r, "hostname: x.com", "path: {type: ReplaceFullPath, replaceFullPath: /full}")
	if prefix {
		rewrite = pick(r, rewrite, "path: {type: ReplacePrefixMatch, replacePrefixMatch: "+pick(r, "/", "/new")+"}")
	}
	header := "{set: [{name: X-B, value: " + pick(r, "b", "c") + "}]}"
	return pick(r, "", "", "", "    timeouts: {request: 30s}\n", "    filters: [{type: URLRewrite, urlRewrite: {"+rewrite+"}}]\n",
		"    filters: [{type: RequestHeaderModifier, requestHeaderModifier: "+header+"}]\n",
		pick(r, "", "", "    filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: s1, port: 80}}}]\n"))
}
