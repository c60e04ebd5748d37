package differ

import "slices"

// The generator of filters: one function for each type.

// filters are those of a rule; prefix tells that its one match is of a prefix. A rule
// that redirects has no backend.
func (w *world) filters(prefix bool) (out list, redirects bool) {
	if w.IntN(2) == 0 {
		out = append(out, object{"type": "ResponseHeaderModifier", "responseHeaderModifier": object{"set": list{object{"name": "x-rule", "value": w.fresh("rule")}}}})
	} else if w.IntN(4) == 0 {
		out = append(out, w.headerFilter("ResponseHeaderModifier"))
	}
	if w.IntN(4) == 0 {
		out = append(out, w.headerFilter("RequestHeaderModifier"))
	}
	if w.IntN(10) == 0 {
		out = append(out, object{"type": "CORS", "cors": w.cors()})
	}
	if len(w.exported) > 0 && w.space == w.namespace && w.IntN(8) == 0 {
		out = append(out, object{"type": "ExtensionRef", "extensionRef": object{"group": "gateway.kgateway.dev", "kind": "TrafficPolicy", "name": one(w.Rand, w.exported...)}})
	}
	switch w.IntN(14) {
	case 0, 1:
		return append(w.redirected(out), object{"type": "RequestRedirect", "requestRedirect": w.redirect(prefix)}), true
	case 2, 3:
		out = append(out, object{"type": "URLRewrite", "urlRewrite": w.rewrite(prefix)})
	case 4:
		out = append(out, w.mirror())
	case 5:
		if w.IntN(2) == 0 {
			break
		}
		out = append(out, object{"type": "ExternalAuth", "externalAuth": w.externalAuth()})
	}
	return out, false
}

// redirected are filters of a rule that redirects: some of them change Location, or copy requests that no backend gets.
func (w *world) redirected(filters list) list {
	if w.IntN(2) == 0 {
		filters = slices.DeleteFunc(filters, func(filter any) bool { return filter.(object)["type"] == "ResponseHeaderModifier" })
		filters = append(filters, object{"type": "ResponseHeaderModifier", "responseHeaderModifier": w.locationMods()})
	}
	if w.IntN(4) == 0 {
		filters = append(filters, w.mirror())
	}
	return filters
}

// locationMods change headers of an answer, mostly Location.
func (w *world) locationMods() object {
	if w.IntN(4) == 0 {
		return w.headerMods()
	}
	pair := func(values ...string) list {
		return list{object{"name": one(w.Rand, "Location", "location", "x-location"), "value": one(w.Rand, values...)}}
	}
	switch w.IntN(4) {
	case 0:
		return object{"set": pair("https://set.test/", "/set", "100%", "a b", "%REQ(x-in)%")}
	case 1:
		return object{"add": pair("https://added.test/?q=1", "/added")}
	case 2:
		return object{"remove": list{one(w.Rand, "Location", "location")}}
	}
	return object{"set": pair("/set"), "add": list{object{"name": "x-add", "value": "1"}}, "remove": list{"x-gone"}}
}

// externalAuth asks a service by HTTP or gRPC; one in a while does not exist.
func (w *world) externalAuth() object {
	service := func(name string) object {
		return object{"group": "gateway.kgateway.dev", "kind": "Backend", "name": name, "namespace": w.namespace}
	}
	if w.IntN(8) == 0 {
		out := object{"protocol": "GRPC", "backendRef": service("guard"), "grpc": object{}}
		w.maybe(2, out, "grpc", object{"allowedHeaders": list{"x-token"}})
		return out
	}
	http := object{"allowedHeaders": list{"x-token"}}
	w.maybe(2, http, "path", one(w.Rand, "/check", "/a/b/"))
	if w.IntN(4) > 0 {
		http["allowedResponseHeaders"] = some(w.Rand, "x-user", "X-In", "authorization", "x-token")
	}
	out := object{"protocol": "HTTP", "backendRef": service(one(w.Rand, "signin", "signin", "signin", "signin", "signin", "signin", "signin", "signin", "signin", "signin", "signin", "signin", "down", "gone")), "http": http}
	w.maybe(2, out, "forwardBody", object{"maxSize": one(w.Rand, 0, 4, 1000)})
	return out
}

func (w *world) grpcFilters() (out list) {
	if w.IntN(2) == 0 {
		out = append(out, w.headerFilter("RequestHeaderModifier"))
	}
	if w.IntN(3) == 0 {
		out = append(out, w.headerFilter("ResponseHeaderModifier"))
	}
	if w.IntN(4) == 0 {
		out = append(out, w.mirror())
	}
	if w.IntN(4) == 0 {
		out = append(out, object{"type": "ExtensionRef", "extensionRef": object{"group": "gateway.kgateway.dev", "kind": "TrafficPolicy", "name": one(w.Rand, w.exported...)}})
	}
	return out
}

func (w *world) headerFilter(kind string) object {
	field := map[string]string{"RequestHeaderModifier": "requestHeaderModifier", "ResponseHeaderModifier": "responseHeaderModifier"}[kind]
	return object{"type": kind, field: w.headerMods()}
}

// headerMods change headers that Envoy keeps in one line, and others.
func (w *world) headerMods() object {
	pair := func(name, value string) object { return object{"name": name, "value": value} }
	out := object{}
	w.maybe(2, out, "set", list{one(w.Rand, pair("x-set", w.fresh("set")), pair("X-A", "100% %REQ(x)%"), pair("accept", "set"), pair("x-forwarded-for", "9.9.9.9"), pair("user-agent", "set"), pair("x-retry-on", "5xx"))})
	w.maybe(2, out, "add", list{one(w.Rand, pair("x-add", "2"), pair("accept", "two"), pair("X-B", "added"), pair("via", "x"), pair("origin", "http://added.test"), pair("x-forwarded-host", "h"), pair("cookie", "b=2"))})
	w.maybe(3, out, "remove", list{one(w.Rand, "x-a", "accept", "X-Gone", "cookie", "x-request-id", "user-agent")})
	if len(out) == 0 {
		out["set"] = list{pair("x-set", w.fresh("set"))}
	}
	return out
}

func (w *world) redirect(prefix bool) object {
	out := object{}
	w.maybe(3, out, "scheme", one(w.Rand, "http", "https"))
	w.maybe(2, out, "hostname", "new.test")
	w.maybe(3, out, "port", one(w.Rand, 80, 443, 8080, 9999))
	w.maybe(2, out, "statusCode", one(w.Rand, 301, 302, 303, 307, 308))
	w.maybe(2, out, "path", w.newPath(prefix))
	if len(out) == 0 {
		out["statusCode"] = 301
	}
	return out
}

func (w *world) newPath(prefix bool) object {
	if prefix && w.IntN(2) == 0 {
		return object{"type": "ReplacePrefixMatch", "replacePrefixMatch": one(w.Rand, "/", "/new", "/new/x/", `/n\1`, "/n w", "/n\tw", "/new ", "/ ")}
	}
	return object{"type": "ReplaceFullPath", "replaceFullPath": one(w.Rand, "/", "/full", "/full/y", `/n\1`, "/f l", "/f\tl", "/full\t", "/full?a b")}
}

func (w *world) rewrite(prefix bool) object {
	out := object{}
	w.maybe(2, out, "hostname", "rewritten.test")
	w.maybe(2, out, "path", w.newPath(prefix))
	if len(out) == 0 {
		out["hostname"] = "rewritten.test"
	}
	return out
}

func (w *world) mirror() object {
	out := object{"backendRef": w.backendRef("mirror")}
	switch w.IntN(3) {
	case 0:
		out["percent"] = one(w.Rand, 0, 50, 100)
	case 1:
		out["fraction"] = object{"numerator": 1, "denominator": 3}
	}
	return object{"type": "RequestMirror", "requestMirror": out}
}

func (w *world) cors() object {
	out := object{"allowOrigins": one(w.Rand, list{"https://app.test"}, list{"https://*.b.test", "http://a.test"}, list{"*"})}
	w.maybe(2, out, "allowMethods", list{"GET", "PUT"})
	w.maybe(2, out, "allowHeaders", list{"x-token"})
	w.maybe(2, out, "exposeHeaders", list{"x-echo"})
	w.maybe(3, out, "maxAge", 600)
	w.maybe(3, out, "allowCredentials", true)
	return out
}
