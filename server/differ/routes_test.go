package differ

import (
	"fmt"
	"slices"
)

// The generator of routes. Paths, headers and values are few, so that rules compete.

func (w *world) parents() list {
	ref := object{"name": "eg"}
	switch w.IntN(6) {
	case 0:
		ref["sectionName"] = "http"
	case 1:
		ref["port"] = 8080
	case 2:
		return list{ref, object{"kind": "ListenerSet", "name": "set"}}
	case 3:
		return list{ref, object{"name": "beside"}}
	}
	return list{ref}
}

// addRoute adds an HTTPRoute that attaches to the Gateway.
func (w *world) addRoute() {
	name := fmt.Sprintf("r%d", len(w.routes))
	spec := object{"parentRefs": w.parents()}
	if w.IntN(3) > 0 {
		spec["hostnames"] = some(w.Rand, hostnames()...)
	}
	own := routeName{kind: "HTTPRoute", name: name}
	var rules list
	for i := range 1 + w.IntN(4) {
		rule := w.rule("/" + one(w.Rand, "a", "b", "c"))
		section := fmt.Sprintf("s%d", i)
		rule["name"] = section
		own.rules = append(own.rules, section)
		rules = append(rules, rule)
	}
	if w.IntN(2) == 0 {
		rules = append(rules, w.delegation(name, "/d", 2))
	}
	spec["rules"] = rules
	o := w.add(gatewayAPI, "HTTPRoute", name, spec)
	w.annotate(o)
	w.routes = append(w.routes, own)
}

func (w *world) annotate(o object) {
	annotations := object{}
	w.maybe(4, annotations, "kgateway.dev/route-weight", fmt.Sprint(w.IntN(5)-2))
	w.maybe(4, annotations, "kgateway.dev/inherited-policy-priority", one(w.Rand, "ShallowMergePreferParent", "ShallowMergePreferChild", "DeepMergePreferParent", "DeepMergePreferChild"))
	if len(annotations) > 0 {
		o["metadata"].(object)["annotations"] = annotations
	}
}

// delegation is a rule that hands requests below a path to a child route: the parent names
// it, or the child includes itself. There may be so many levels below the child.
func (w *world) delegation(parent, above string, levels int) object {
	w.children++
	child, path := fmt.Sprintf("child%d", w.children), above+one(w.Rand, "", "/a", "/b")
	space := w.space
	if w.IntN(3) == 0 { // the second namespace has no children elsewhere
		space = w.side()
	}
	rule := object{"name": "down", "matches": list{object{"path": object{"value": path}}}}
	spec := object{}
	prefix := path
	if w.IntN(2) == 0 {
		spec["parentRefs"] = list{object{"kind": "HTTPRoute", "name": parent, "namespace": w.space, "sectionName": "down"}}
		rule["allowedRoutes"] = object{"namespaces": one(w.Rand, object{"from": "Same"}, object{"from": "Selector", "selector": object{"matchLabels": object{"kubernetes.io/metadata.name": space}}})}
		w.maybe(2, rule["allowedRoutes"].(object), "kinds", list{object{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}})
		prefix = ""
	} else {
		rule["backendRefs"] = list{object{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": child, "namespace": space}}
	}
	if w.IntN(2) == 0 {
		rule["filters"] = list{w.headerFilter("RequestHeaderModifier")}
	}
	w.in(space, func() { w.addChild(child, prefix, levels, spec) })
	return rule
}

// addChild adds a child route with a spec to which the rules and hostnames are added. Paths of its rules begin with prefix.
func (w *world) addChild(child, prefix string, levels int, spec object) {
	var rules list
	own := routeName{kind: "HTTPRoute", name: child}
	for i := range 1 + w.IntN(3) {
		below := w.rule(prefix + one(w.Rand, "/x", "/y", "/a"))
		below["name"] = fmt.Sprintf("s%d", i)
		own.rules = append(own.rules, fmt.Sprintf("s%d", i))
		rules = append(rules, below)
	}
	if levels > 0 && w.IntN(3) == 0 {
		rules = append(rules, w.delegation(child, prefix+"/d", levels-1))
	}
	spec["rules"] = rules
	refused := spec["parentRefs"] == nil // only a child that includes itself may have hostnames
	w.maybe(1+9*b2i(refused), spec, "hostnames", some(w.Rand, "a.test", "b.test", "*.c.test"))
	w.annotate(w.add(gatewayAPI, "HTTPRoute", child, spec))
	if w.space == w.side() {
		w.addSidePolicy(own)
		return
	}
	w.routes = append(w.routes, own)
}

// rule is a rule whose paths begin with path.
func (w *world) rule(path string) object {
	rule := object{}
	var matches list
	prefix := true // all matches are of a prefix, and there is one
	for range 1 + w.IntN(2) {
		match, isPrefix := w.match(path)
		prefix = prefix && isPrefix && len(matches) == 0
		matches = append(matches, match)
	}
	rule["matches"] = matches
	filters, redirects := w.filters(prefix)
	if len(filters) > 0 {
		rule["filters"] = filters
	}
	w.maybe(5, rule, "timeouts", w.ruleTimeouts()) // also of rules without a backend, which they change nothing of
	w.maybe(6, rule, "retry", object{"codes": list{500, 503}, "attempts": 1 + w.IntN(2), "backoff": "10ms"})
	if !redirects && w.IntN(20) > 0 {
		rule["backendRefs"] = w.backendRefs("HTTPRoute")
		w.maybe(20, rule, "sessionPersistence", object{"type": "Cookie", "sessionName": "s", "absoluteTimeout": "1h", "cookieConfig": object{"lifetimeType": "Permanent"}})
	}
	return rule
}

func (w *world) ruleTimeouts() object {
	out := object{"request": one(w.Rand, "20s", "0s", "4s")}
	w.maybe(2, out, "backendRequest", "3s")
	if out["request"] == "0s" {
		delete(out, "backendRequest")
	}
	return out
}

func (w *world) match(path string) (match object, prefix bool) {
	match = object{}
	full := path + one(w.Rand, "", "", "/a", "/b/c", "/B")
	switch w.IntN(5) {
	case 0:
		match["path"] = object{"type": "Exact", "value": full}
	case 1:
		match["path"] = object{"type": "RegularExpression", "value": path + one(w.Rand, "/[a-z]+", "/.*", "(?:/a|/b)?", "/a;.*", "/.*%2F.*")}
	default:
		match["path"] = object{"type": "PathPrefix", "value": one(w.Rand, full, full, full, full, "/")}
		prefix = true
	}
	if path[0] == '/' && len(path) > 2 && prefix { // below a parent
		match["path"] = object{"type": "PathPrefix", "value": full}
	}
	w.maybe(5, match, "method", one(w.Rand, "GET", "POST", "OPTIONS", "PUT", "CONNECT", "TRACE"))
	if w.IntN(3) == 0 {
		var headers list
		for _, h := range w.matchedHeaders() {
			headers = append(headers, h)
		}
		match["headers"] = headers
	}
	if w.IntN(5) == 0 {
		match["queryParams"] = list{one(w.Rand, object{"name": "q", "value": "1"}, object{"name": "q", "value": "[a-z]+", "type": "RegularExpression"}, object{"name": "a%20b", "value": "x"}, object{"name": "e", "value": "x", "type": "RegularExpression"}, object{"name": "p", "value": "1+2"}, object{"name": "q", "value": "a%26b"}, object{"name": "e", "value": ".*", "type": "RegularExpression"})}
	}
	return match, prefix
}

// matchedHeaders are one or two header matches, many of headers that Envoy writes,
// joins or removes before it looks for a route.
func (w *world) matchedHeaders() []object {
	exact := func(name, value string) object { return object{"name": name, "value": value} }
	regex := func(name, value string) object {
		return object{"name": name, "value": value, "type": "RegularExpression"}
	}
	all := []object{
		exact("x-a", "1"), exact("x-a", "1"), regex("x-a", "1|2"), exact("X-B", "b"), regex("x-b", ".+"), exact("accept", "text/html"),
		regex("user-agent", "curl.*"), exact("x-forwarded-proto", "https"), exact("x-forwarded-proto", "http"), exact("x-envoy-internal", "true"),
		regex("x-request-id", ".+"), exact("connection", "x-a"), exact("te", "gzip"), exact("te", "trailers"), exact("cookie", "a=1"), exact("x_c", "1"),
		regex("referer", ".*test.*"), regex("origin", "http.*"), regex("x-forwarded-for", ".*9.*"), exact("expect", "100-continue"),
		exact("content-type", "application/grpc"), exact("upgrade", "websocket"), exact("host", "a.test"), regex("x-u", "[^a]x"), exact("x-forwarded-host", "a.test"),
		exact("x-envoy-retry-on", "5xx"), exact("content-length", "5"), regex("x-envoy-external-address", ".+"), exact("accept-encoding", "gzip"),
	}
	if w.IntN(4) == 0 {
		return []object{one(w.Rand, all[:6]...), one(w.Rand, all[6:]...)}
	}
	return []object{one(w.Rand, all...)}
}

// backendRefs are one or several references, some of which lead nowhere.
func (w *world) backendRefs(kind string) list {
	n := one(w.Rand, 1, 1, 1, 2, 3)
	var out list
	for range n {
		ref := w.backendRef(one(w.Rand, "b0", "b1", "b2", "b0", "b1", "b2", "b0", "b1", "b2", "local", "local", "pair", "slice", "slice", "draining", "side", "side", "busy", "busy", "busy", "busy", "empty", "notready", "refused", "missing"))
		if n > 1 {
			w.maybe(2, ref, "weight", w.IntN(4))
		}
		if w.IntN(5) == 0 {
			filters := list{w.headerFilter(one(w.Rand, "RequestHeaderModifier", "ResponseHeaderModifier"))}
			if w.IntN(3) == 0 {
				filters = list{object{"type": "URLRewrite", "urlRewrite": object{"hostname": "own.test"}}}
			}
			if kind == "GRPCRoute" {
				filters = list{w.headerFilter("RequestHeaderModifier")}
			}
			ref["filters"] = filters
		}
		out = append(out, ref)
	}
	return out
}

func (w *world) backendRef(name string) object {
	ref := object{"group": "gateway.kgateway.dev", "kind": "Backend", "name": name}
	if slices.Contains([]string{"slice", "draining", "empty", "notready"}, name) {
		ref = object{"name": name, "port": 80}
	}
	switch {
	case name == "side":
		ref["namespace"] = w.side()
	case w.space == w.side() || w.IntN(4) == 0:
		ref["namespace"] = w.namespace
	}
	return ref
}

// addGRPCRoute adds a GRPCRoute that attaches to the Gateway.
func (w *world) addGRPCRoute() {
	name := fmt.Sprintf("g%d", len(w.routes))
	own := routeName{kind: "GRPCRoute", name: name}
	var rules list
	for i := range 1 + w.IntN(3) {
		section := fmt.Sprintf("s%d", i)
		rule := object{"name": section, "matches": list{w.grpcMatch()}, "backendRefs": w.backendRefs("GRPCRoute")}
		w.maybe(20, rule, "sessionPersistence", object{"type": "Header", "sessionName": "s"})
		if filters := w.grpcFilters(); len(filters) > 0 {
			rule["filters"] = filters
		}
		own.rules = append(own.rules, section)
		rules = append(rules, rule)
	}
	spec := object{"parentRefs": list{object{"name": "eg"}}, "hostnames": list{one(w.Rand, "grpc.test", "rpc.example")}, "rules": rules}
	w.add(gatewayAPI, "GRPCRoute", name, spec)
	w.routes = append(w.routes, own)
}

func (w *world) grpcMatch() object {
	match := object{}
	switch w.IntN(5) {
	case 0:
		match["method"] = object{"service": "shop.Cart", "method": "Get"}
	case 1:
		match["method"] = object{"service": "shop.Cart"}
	case 2:
		match["method"] = object{"method": "Get"}
	case 3:
		match["method"] = object{"type": "RegularExpression", "service": "shop[.].*", "method": "G.*"}
	}
	w.maybe(3, match, "headers", list{one(w.Rand, object{"name": "x-a", "value": "1"}, object{"name": "x-a", "value": ".", "type": "RegularExpression"})})
	return match
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
