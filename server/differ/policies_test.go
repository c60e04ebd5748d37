package differ

import (
	"fmt"
	"maps"
)

// The generator of TrafficPolicies and of the services that they ask.

// fresh is a value that no other part of the world has.
func (w *world) fresh(kind string) string {
	return fmt.Sprintf("%s-%d-%d", kind, w.number, w.Uint32())
}

// addPolicies adds policies for routes, rules, the Gateway and its listeners, and those
// that rules name by ExtensionRef.
func (w *world) addPolicies() {
	for _, name := range w.exported {
		w.add(kgateway, "TrafficPolicy", name, w.policy(1+w.IntN(3)))
	}
	for i := range 2 + w.IntN(5) {
		spec := w.policy(1 + w.IntN(3))
		spec["targetRefs"] = list{w.target()}
		if w.IntN(5) == 0 {
			delete(spec, "targetRefs")
			selector := object{"group": "gateway.networking.k8s.io", "kind": one(w.Rand, "HTTPRoute", "GRPCRoute"), "matchLabels": object{"team": one(w.Rand, "a", "b")}}
			w.maybe(3, selector, "sectionName", one(w.Rand, "s0", "s1"))
			spec["targetSelectors"] = list{selector}
		}
		o := w.add(kgateway, "TrafficPolicy", fmt.Sprintf("p%d", i), spec)
		if w.IntN(4) == 0 {
			o["metadata"].(object)["annotations"] = object{"kgateway.dev/policy-weight": fmt.Sprint(w.IntN(3))}
		}
	}
	turn, at := w.rare(), w.target()
	for at["kind"] == "Gateway" { // it would leave little of the world
		at = w.target()
	}
	turn["targetRefs"] = list{at}
	w.add(kgateway, "TrafficPolicy", "in-turn", turn)
}

// rare is a spec with what policies of chance have too seldom for every request to meet it: each
// world has one of them.
func (w *world) rare() object {
	tokens := func(name string) object { return object{"jwtAuth": object{"extensionRef": object{"name": name}}} }
	all := []object{
		{"buffer": object{"disable": object{}}}, tokens("tokens-query"), {"extProc": object{"disable": object{}}}, tokens("tokens-down"),
		{"acl": object{"denyResponse": object{"blockedByHeaderName": "x-blocked-by"}, "defaultAction": "allow", "rules": list{object{"name": "office", "action": "deny", "cidrs": list{"203.0.113.0/24"}}}}},
		{"rateLimit": object{"local": object{"tokenBucket": object{"maxTokens": 100000, "fillInterval": "1h"}, "percentEnforced": 50}}},
		{"basicAuth": object{"secretRef": object{"name": "people", "namespace": w.namespace}}},
		{"basicAuth": object{"users": list{"alice:{SHA}L55TUjtiq8FBorTWAZ0jy6g129A="}}},
	}
	return all[w.number%len(all)]
}

// addBackendPolicies adds policies of backends. What they set changes no answer but where it
// is invalid, which closes the backend, or leaves no endpoint that Envoy may use.
func (w *world) addBackendPolicies() {
	for i := range w.IntN(4) {
		spec := w.backendPolicy()
		name := one(w.Rand, "b0", "b1", "b2", "local", "pair")
		spec["targetRefs"] = list{object{"group": "gateway.kgateway.dev", "kind": "Backend", "name": name}}
		switch w.IntN(4) {
		case 0:
			spec["targetRefs"] = list{object{"group": "", "kind": "Service", "name": one(w.Rand, "slice", "draining", "draining")}}
		case 1:
			delete(spec, "targetRefs")
			spec["targetSelectors"] = list{object{"group": one(w.Rand, "", "gateway.kgateway.dev"), "kind": "Service", "matchLabels": object{"team": one(w.Rand, "a", "b")}}}
			if spec["targetSelectors"].(list)[0].(object)["group"] != "" {
				spec["targetSelectors"].(list)[0].(object)["kind"] = "Backend"
			}
		}
		if w.IntN(6) == 0 {
			spec["zz"] = 1
		}
		w.add(kgateway, "BackendConfigPolicy", fmt.Sprintf("bp%d", i), spec)
	}
}

func (w *world) backendPolicy() object {
	balancer := one(w.Rand, "roundRobin", "leastRequest", "random", "ringHash", "maglev")
	lb := object{balancer: object{}}
	w.maybe(2, lb, "healthyPanicThreshold", one(w.Rand, 0, 0, 50))
	out := object{"loadBalancer": lb}
	check := object{"timeout": "10s", "interval": "1h", "unhealthyThreshold": 1, "healthyThreshold": 1}
	check[one(w.Rand, "tcp", "tcp", "http")] = object{}
	if check["http"] != nil {
		check["http"] = object{"path": "/health"}
	}
	w.maybe(3, out, "healthCheck", check)
	w.maybe(3, out, "outlierDetection", object{"consecutive5xx": 100})
	w.maybe(3, out, "circuitBreakers", object{"maxRequests": 1000, "maxConnections": 1000})
	w.maybe(3, out, "connectTimeout", "20s")
	w.maybe(3, out, "perConnectionBufferLimitBytes", 1<<20)
	w.maybe(3, out, "tcpKeepalive", object{"keepAliveProbes": 2})
	return out
}

func (w *world) target() object {
	out := object{"group": "gateway.networking.k8s.io"}
	if w.IntN(8) == 0 {
		out["kind"], out["name"] = "Gateway", "eg"
		w.maybe(2, out, "sectionName", one(w.Rand, "http", "tls-a", "wild"))
		return out
	}
	route := one(w.Rand, w.routes...)
	out["kind"], out["name"] = route.kind, route.name
	if len(route.rules) > 0 {
		w.maybe(2, out, "sectionName", one(w.Rand, route.rules...))
	}
	return out
}

// policy is a spec with n of the fields.
func (w *world) policy(n int) object {
	fields := map[string]func() any{
		"transformation":  func() any { return w.transformation() },
		"acl":             func() any { return w.acl() },
		"rbac":            func() any { return w.rbac() },
		"basicAuth":       func() any { return w.basicAuth() },
		"apiKeyAuth":      func() any { return w.apiKeyAuth() },
		"oauth2":          func() any { return w.oauth2() },
		"jwtAuth":         func() any { return w.jwtAuth() },
		"extAuth":         func() any { return w.extAuth() },
		"extProc":         func() any { return w.extProc() },
		"rateLimit":       func() any { return w.rateLimit() },
		"cors":            func() any { return w.corsPolicy() },
		"csrf":            func() any { return w.csrf() },
		"headerModifiers": func() any { return object{"request": w.headerMods(), "response": w.locationMods()} },
		"autoHostRewrite": func() any { return w.IntN(4) > 0 },
		"buffer":          func() any { return w.buffer() },
		"timeouts":        func() any { return w.timeouts() },
		"retry":           func() any { return w.retry() },
		"hashPolicies":    func() any { return w.hashPolicies() },
	}
	names := []string{
		"transformation", "transformation", "transformation", "transformation", "acl", "rbac", "rbac", "basicAuth", "apiKeyAuth", "apiKeyAuth", "oauth2", "jwtAuth", "jwtAuth", "extAuth", "extProc", "extProc", "rateLimit", "cors", "cors", "csrf", "csrf",
		"headerModifiers", "headerModifiers", "headerModifiers", "autoHostRewrite", "autoHostRewrite", "autoHostRewrite", "buffer", "timeouts", "timeouts", "retry", "retry", "hashPolicies", "hashPolicies",
	}
	spec := object{}
	for range n {
		name := one(w.Rand, names...)
		spec[name] = fields[name]()
	}
	if spec["retry"] != nil {
		w.maybe(2, spec, "buffer", object{"maxRequestSize": "64Ki"})
	}
	return spec
}

func (w *world) template() string {
	return one(w.Rand, "plain", "100% %REQ(x)%", `{{ header("x-in") }}`, `{{ header("x-forwarded-proto") }}`, `{{ lower(header("x-in")) }}`,
		`{{ upper(header("x-in")) }}`, `{{ default(header("x-in"), "none") }}`, `a-{{ header(":path") }}-{{ header(":method") }}`, `{{ header(":authority") }}`,
		`{{ header("host") }}`, `{{ header(":scheme") }}`, `{{ lower(default(header("x-in"), "NONE")) }}`, `{{ header("x-set") }}`, `{{ request_header("accept") }}`,
		`{{ default(header("x-forwarded-for"), "nobody") }}`, `{{ lower(header("x-forwarded-proto")) }}`, `{{ upper(header("accept")) }}`, `{{ header("x-a") }}{{ header("x-b") }}`,
		`{{ header("te") }}`, `{{ header("referer") }}`, `{{ default(header("user-agent"), "unknown") }}`)
}

func (w *world) transform() object {
	pair := func(name string) object { return object{"name": name, "value": w.template()} }
	out := object{}
	w.maybe(2, out, "set", list{pair(one(w.Rand, "x-t", "x-set", "accept", "x-a", "x-t2")), pair(one(w.Rand, "x-t3", "x-t4"))})
	w.maybe(2, out, "add", list{pair(one(w.Rand, "x-in", "x-add", "accept", "x-t"))})
	w.maybe(3, out, "remove", list{one(w.Rand, "x-b", "x-gone", "accept")})
	if len(out) == 0 {
		out["set"] = list{pair("x-t")}
	}
	return out
}

func (w *world) transformation() object {
	out := object{"request": w.transform()}
	w.maybe(4, out, "response", object{"set": list{object{"name": "x-from", "value": `{{ header("content-type") }}/{{ request_header("x-in") }}`}}, "remove": list{"x-gone"}})
	to := list{object{"name": one(w.Rand, "location", "Location"), "value": one(w.Rand, "/moved", `{{ header("location") }}?moved`, `https://t.test{{ request_header("x-in") }}`)}}
	w.maybe(6, out, "response", one(w.Rand, object{"set": to}, object{"add": to}, object{"remove": list{"location"}}))
	return out
}

// acl has ranges around the address that all questions come from, and those that a trusted hop
// may report.
func (w *world) acl() object {
	ranges := func() any {
		return some(w.Rand, "127.0.0.0/8", "127.0.0.1", "0.0.0.0/0", "10.0.0.0/8", "2001:db8::/32", "1.1.1.1", "203.0.113.0/24", "::/0")
	}
	rule := func(action string, cidrs any) object {
		out := object{"action": action, "cidrs": cidrs}
		w.maybe(2, out, "name", one(w.Rand, "office", "a b", "-default"))
		return out
	}
	out := object{"defaultAction": one(w.Rand, "allow", "allow", "deny")}
	w.maybe(2, out, "rules", list{rule(one(w.Rand, "allow", "deny"), ranges()), rule(one(w.Rand, "allow", "deny"), list{one(w.Rand, "127.0.0.0/30", "10.1.0.0/16")})})
	response := object{}
	w.maybe(2, response, "statusCode", one(w.Rand, 404, 418, 204, 599))
	w.maybe(2, response, "headers", list{object{"name": "x-why", "value": "100%"}})
	w.maybe(2, response, "blockedByHeaderName", "x-blocked-by")
	if len(response) > 0 {
		w.maybe(2, out, "denyResponse", response)
	}
	return out
}

// rbac has expressions that a question decides, and those that only Envoy can.
func (w *world) rbac() object {
	ranges := func() any { return some(w.Rand, "127.0.0.0/8", "10.0.0.0/8", "203.0.113.0/24", "::/0", "9.9.9.9") }
	policy := object{}
	w.maybe(4, policy, "allowedCIDRs", ranges())
	w.maybe(4, policy, "blockedCIDRs", some(w.Rand, "10.0.0.0/8", "1.1.1.1", "2001:db8::/32"))
	if len(policy) == 0 || w.IntN(2) == 0 {
		policy["matchExpressions"] = some(w.Rand, "request.headers['x-in'] == 'a'", "'X-A' in request.headers", "request.headers['x-b'] != 'c'", "!('accept' in request.headers)",
			"request.method in ['GET', 'PUT']", "request.path.startsWith('/a')", "request.url_path.endsWith('/b') || request.query.contains('q=')", "request.url_path.matches('^/[ab](/.*)?$')",
			"request.host.contains('a.test')", "request.scheme == 'https'", "size(request.path) > 6", "request.useragent == 'x'", "has(request.referer)", "request.headers[':authority'] == request.host",
			"request.headers['x-a'] == 'a' ? request.method == 'GET' : request.path != '/'", "metadata.filter_metadata['none']['x'] == 'y'", "'x-client' in request.headers", "'authorization' in request.headers", "request.headers['cookie'].contains('a=1')", "request.method == 1")
	}
	return object{"action": one(w.Rand, "Allow", "Deny"), "policy": policy}
}

func (w *world) extAuth() object {
	if w.IntN(4) == 0 {
		return object{"disable": object{}}
	}
	ref := object{"name": one(w.Rand, "auth", "auth", "auth-down", "auth-open", "auth-some", "auth-void", "auth-void-open", "auth-shut", "auth-shut-open", "auth-shut-some", "missing", "sign-in-open", "sign-in-open", "sign-in", "sign-in", "sign-in", "sign-in", "sign-in", "sign-in", "sign-in", "sign-in-plain", "sign-in-plain", "sign-in-down", "sign-in-open", "sign-in-some")}
	w.maybe(3, ref, "namespace", w.namespace)
	out := object{"extensionRef": ref}
	w.maybe(3, out, "contextExtensions", object{"team": "shop"})
	w.maybe(3, out, "withRequestBody", object{"maxRequestBytes": 100, "allowPartialMessage": true, "packAsBytes": true})
	return out
}

func (w *world) extProc() object {
	if w.IntN(4) == 0 {
		return object{"disable": object{}}
	}
	out := object{"extensionRef": object{"name": one(w.Rand, "proc", "proc", "proc-modes", "proc-modes", "proc-down", "proc-open", "proc-void", "proc-shut-open", "proc-answers", "proc-bodies", "proc-nothing")}}
	w.maybe(3, out, "processingMode", object{"responseHeaderMode": "SKIP", "requestHeaderMode": "SEND"})
	return out
}

func (w *world) rateLimit() object {
	if w.IntN(3) == 0 {
		entries := list{
			object{"type": "Generic", "generic": object{"key": "k", "value": "v"}}, object{"type": "Header", "header": one(w.Rand, "x-in", "x-user")},
			object{"type": "RemoteAddress"}, object{"type": "Path"},
		}
		return object{"global": object{"extensionRef": object{"name": one(w.Rand, "limit", "limit", "limit-open", "limit-down", "limit-void", "limit-shut-open")}, "descriptors": list{object{"entries": one(w.Rand, entries, entries, some(w.Rand, entries...))}}}}
	}
	bucket := object{"maxTokens": one(w.Rand, 1, 100000, 100000), "fillInterval": "1h"}
	w.maybe(2, bucket, "tokensPerFill", 2)
	local := object{"tokenBucket": bucket}
	w.maybe(2, local, "percentEnabled", one(w.Rand, 0, 50, 100))
	w.maybe(2, local, "percentEnforced", one(w.Rand, 0, 50, 100))
	return object{"local": local}
}

func (w *world) corsPolicy() object {
	if w.IntN(4) == 0 {
		return object{"disable": object{}}
	}
	return w.cors()
}

func (w *world) csrf() object {
	out := object{}
	w.maybe(2, out, "additionalOrigins", some(w.Rand, object{"exact": "c.test"}, object{"prefix": "App.", "ignoreCase": true}, object{"suffix": ".b.test"}, object{"contains": "pp."}, object{"safeRegex": "a.{2}[.]test"}))
	switch w.IntN(6) {
	case 0:
		out["percentageEnabled"] = one(w.Rand, 0, 50, 100)
	case 1:
		out["percentageShadowed"] = one(w.Rand, 50, 100)
	}
	return out
}

func (w *world) buffer() object {
	if w.IntN(4) == 0 {
		return object{"disable": object{}}
	}
	return object{"maxRequestSize": one(w.Rand, "1Ki", "10", "4", "64Ki")}
}

func (w *world) timeouts() object {
	out := object{}
	w.maybe(2, out, "request", one(w.Rand, "20s", "0s"))
	w.maybe(2, out, "streamIdle", "20s")
	if len(out) == 0 {
		out["request"] = "20s"
	}
	return out
}

func (w *world) retry() object {
	out := object{}
	w.maybe(2, out, "statusCodes", list{503, 500})
	w.maybe(2, out, "attempts", w.IntN(3))
	w.maybe(2, out, "perTryTimeout", "5s")
	w.maybe(2, out, "backoffBaseInterval", "10ms")
	if out["statusCodes"] == nil || w.IntN(2) == 0 {
		out["retryOn"] = list{"5xx", "gateway-error"}
	}
	return out
}

func (w *world) hashPolicies() list {
	cookie := object{"name": "sticky", "ttl": "30s", "path": "/", "secure": true, "httpOnly": true, "sameSite": "Strict"}
	return list{object{"header": object{"name": "x-a"}, "terminal": true}, object{"cookie": cookie}, object{"sourceIP": object{}}}
}

// addExtensions adds the services that policies ask: "guard" answers, and is asked about some
// requests alone where the name says so; "down" refuses connections, "empty" has no endpoint,
// and a policy closes "shut".
func (w *world) addExtensions() {
	service := func(name string) object {
		ref := object{"group": "gateway.kgateway.dev", "kind": "Backend", "name": name}
		if name == "empty" {
			ref = object{"name": name, "port": 80}
		}
		return object{
			"backendRef": ref, "requestTimeout": "10s", "authority": "guard.test",
			"retry": object{"attempts": 1, "backoff": object{"baseInterval": "1ms", "maxInterval": "2ms"}},
		}
	}
	w.add(kgateway, "BackendConfigPolicy", "shut", object{"targetRefs": list{object{"group": "gateway.kgateway.dev", "kind": "Backend", "name": "shut"}}, "zz": 1})
	of := func(field, name, backend string, more object) {
		spec := object{"grpcService": service(backend)}
		maps.Copy(spec, more)
		w.add(kgateway, "GatewayExtension", name, object{field: spec})
	}
	of("extAuth", "auth", "guard", object{"headersToForward": list{"x-token"}, "withRequestBody": object{"maxRequestBytes": 1000}, "statPrefix": "x"})
	by := func(name, backend string, service, more object) {
		service["backendRef"] = object{"group": "gateway.kgateway.dev", "kind": "Backend", "name": backend}
		spec := object{"httpService": service}
		maps.Copy(spec, more)
		w.users(w.add(kgateway, "GatewayExtension", name, object{"extAuth": spec}))
	}
	answer := func() object {
		return object{"headersToBackend": some(w.Rand, "X-User", "x-in", "authorization", "accept"), "headersToClient": list{"x-checked"}, "headersToClientOnSuccess": list{"x-checked"}}
	}
	by("sign-in", "signin", object{
		"pathPrefix": "/api/verify", "requestTimeout": "10s", "retry": object{"attempts": 1, "backoff": object{"baseInterval": "1ms", "maxInterval": "2ms"}},
		"authorizationRequest": object{"headersToAdd": object{"x-url": "%REQ(:authority)%%REQ(:path)%"}}, "authorizationResponse": answer(),
	}, object{"headersToForward": list{"x-token", "accept"}, "statPrefix": "y"})
	by("sign-in-plain", "signin", object{}, object{"withRequestBody": object{"maxRequestBytes": 4}})
	by("sign-in-down", "down", object{"authorizationResponse": answer()}, object{"statusOnError": 503})
	by("sign-in-open", "down", object{"authorizationResponse": answer()}, object{"failOpen": true})
	by("sign-in-some", "signin", object{"authorizationResponse": answer()}, object{"percentageEnabled": one(w.Rand, 0, 50)})
	of("extAuth", "auth-down", "down", object{"statusOnError": 503})
	of("extAuth", "auth-open", "down", object{"failOpen": true})
	of("extAuth", "auth-some", "guard", object{"percentageEnabled": 50})
	of("extAuth", "auth-void", "empty", object{"withRequestBody": object{"maxRequestBytes": 4}})
	of("extAuth", "auth-void-open", "empty", object{"failOpen": true, "withRequestBody": object{"maxRequestBytes": 10}})
	of("extAuth", "auth-shut", "shut", object{"statusOnError": 401})
	of("extAuth", "auth-shut-open", "shut", object{"failOpen": true})
	of("extAuth", "auth-shut-some", "shut", object{"percentageEnabled": one(w.Rand, 0, 50), "statusOnError": 500})

	modes := object{
		"requestHeaderMode": "SEND", "responseHeaderMode": "SKIP", "requestBodyMode": "BUFFERED", "responseBodyMode": "NONE",
		"requestTrailerMode": "SKIP", "responseTrailerMode": "SKIP",
	}
	skip := func(headers, answers, body string) object {
		return object{"requestHeaderMode": headers, "responseHeaderMode": answers, "requestBodyMode": body}
	}
	of("extProc", "proc", "guard", object{"messageTimeout": "10s", "maxMessageTimeout": "20s", "statPrefix": "x", "failOpen": false})
	of("extProc", "proc-modes", "guard", object{
		"messageTimeout": "10s", "allowProcessingModeOverride": true, "allowedProcessingModeOverrides": list{object{"requestBodyMode": "NONE"}}, "processingMode": modes,
	})
	of("extProc", "proc-down", "down", object{"failOpen": false})
	of("extProc", "proc-open", "down", nil)
	of("extProc", "proc-void", "empty", object{"failOpen": false})
	of("extProc", "proc-shut-open", "shut", nil)
	of("extProc", "proc-answers", "shut", object{"failOpen": false, "processingMode": skip("SKIP", "SEND", "NONE")})
	of("extProc", "proc-bodies", "empty", object{"failOpen": false, "processingMode": skip("SKIP", "SKIP", one(w.Rand, "BUFFERED", "STREAMED"))})
	of("extProc", "proc-nothing", "empty", object{"failOpen": false, "processingMode": skip("SKIP", "SKIP", "NONE")})

	of("rateLimit", "limit", "guard", object{"domain": "shop", "timeout": "10s", "xRateLimitHeaders": "DraftVersion03", "failOpen": true})
	of("rateLimit", "limit-open", "down", object{"domain": "shop", "failOpen": true, "xRateLimitHeaders": "DraftVersion03"})
	of("rateLimit", "limit-down", "down", object{"domain": "shop", "failOpen": false, "xRateLimitHeaders": "DraftVersion03"})
	of("rateLimit", "limit-void", "empty", object{"domain": "shop", "failOpen": false})
	of("rateLimit", "limit-shut-open", "shut", object{"domain": "shop", "failOpen": true})
}
