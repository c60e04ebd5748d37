package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// effect is what one middleware, or all middlewares of a router together, do to requests and responses.
type effect struct {
	paths     []pathStep
	redirects []*redirect       // the first one that applies answers
	asks      bool              // an external service decides, and sees all changes of earlier middlewares
	request   map[string]string // headers by lower-case name; "" removes the header
	response  map[string]string
	transport string         // the header Strict-Transport-Security, for https only
	host      string         // the host that the server receives
	policy    map[string]any // fields of a TrafficPolicy
	closed    string         // the reason why the router answers 500, "" if it does not
}

// pathStep changes the path of a request.
type pathStep struct {
	kind   string // "strip", "add" or "replace"
	values []string
}

func newEffect() *effect {
	return &effect{request: map[string]string{}, response: map[string]string{}, policy: map[string]any{}}
}

// add appends the effect of a router's next middleware to e, the effect of the middlewares before it. If
// gatefold cannot combine the two effects, add sets e.closed, so that the router answers 500.
func (e *effect) add(next *effect) {
	e.closed = cmp.Or(e.closed, next.closed)
	changed := len(e.paths) > 0 || len(e.request) > 0 || e.host != ""
	if changed && (next.asks || slices.ContainsFunc(next.redirects, func(r *redirect) bool { return r.expression != nil })) {
		e.closed = cmp.Or(e.closed, "a middleware changes the request before another one asks about it")
	}
	e.asks, e.redirects = e.asks || next.asks, append(slices.Clone(e.redirects), next.redirects...)
	e.paths = append(slices.Clone(e.paths), next.paths...)
	maps.Copy(e.request, next.request)
	for name, value := range next.response {
		if _, there := e.response[name]; !there { // the outer middleware changes the response last
			e.response[name] = value
		}
	}
	e.transport, e.host = cmp.Or(e.transport, next.transport), cmp.Or(next.host, e.host)
	for key, value := range next.policy {
		if e.policy[key] != nil {
			e.closed = cmp.Or(e.closed, "two middlewares both say "+key)
		}
		e.policy[key] = value
	}
}

// middlewareReader reads middlewares, and adds the objects that they need.
type middlewareReader struct {
	parts   *configuration
	objects *traefikObjects
	effects map[string]*effect // by name, without the provider
}

// effect returns what the named middleware does to requests and responses. If options.Accept names the
// middleware, the effect is empty. If the middleware does not exist, leads to itself, or cannot be expressed,
// the field closed of the result has the reason; routers that use the middleware answer 500.
func (m *middlewareReader) effect(name string) *effect {
	plain, ok := local(name)
	p := m.parts.find("middleware", plain)
	if ok && p != nil && p.accepted {
		return newEffect()
	}
	if !ok || p == nil {
		return &effect{closed: fmt.Sprintf("the middleware %q is not among the files", name)}
	}
	if known := m.effects[plain]; known != nil {
		return known
	}
	e := newEffect()
	e.closed = "a chain of middlewares that leads to itself"
	m.effects[plain] = e
	made := newEffect()
	kinds, _ := p.value.(map[string]any)
	for _, kind := range sortedKeys(kinds) {
		m.read(p, kind, made)
	}
	p.rest()
	if p.closed != "" {
		made.closed = cmp.Or(made.closed, p.closedWhy)
	}
	*e = *made
	return e
}

// read adds to e what the middleware p does. The parameter kind is the field that is set in the middleware,
// such as stripPrefix. For an unknown kind, read adds nothing; the method rest then makes the routers that use
// the middleware answer 500.
func (m *middlewareReader) read(p *part, kind string, e *effect) {
	get := func(field string) any { return p.get(kind + "." + field) }
	switch kind {
	case "chain":
		for i, name := range list(get("middlewares")) {
			e.add(m.effect(text(name)))
			p.say(Same, "its middlewares, in this order", fmt.Sprintf("chain.middlewares[%d]", i))
		}
	case "stripPrefix":
		step := pathStep{kind: "strip"}
		for _, prefix := range list(get("prefixes")) {
			if !plainPath.MatchString(text(prefix)) {
				p.failClosed("a prefix is no plain path", "", "stripPrefix.prefixes")
			}
			step.values = append(step.values, text(prefix))
		}
		e.paths = append(e.paths, step)
		p.say(Different, "the path that the server receives; it does not receive X-Forwarded-Prefix", "stripPrefix.prefixes", "stripPrefix.forceSlash")
	case "addPrefix", "replacePath":
		field := map[string]string{"addPrefix": "prefix", "replacePath": "path"}[kind]
		value := text(get(field))
		if !plainPath.MatchString(value) || dotPath.MatchString(value) {
			p.failClosed("it is no plain path", "", kind)
			return
		}
		e.paths = append(e.paths, pathStep{kind: strings.TrimSuffix(strings.TrimSuffix(kind, "Prefix"), "Path"), values: []string{value}})
		p.say(Same, "the path that the server receives", kind+"."+field)
	case "redirectScheme":
		e.readRedirectScheme(p)
	case "headers":
		e.readHeaders(p)
	case "basicAuth":
		e.readBasicAuth(p)
	case "ipAllowList", "ipWhiteList":
		e.readAddresses(p, kind)
	case "buffering":
		if size, ok := number(get("maxRequestBodyBytes")); ok && size > 0 && size < 4<<30 {
			e.policy["buffer"] = map[string]any{"maxRequestSize": strconv.FormatInt(size, 10)}
			p.say(Different, "buffer.maxRequestSize: Envoy reads the whole request before it sends it on", "buffering.maxRequestBodyBytes")
		} else if ok && size == 0 {
			p.say(Same, "no limit", "buffering.maxRequestBodyBytes")
		}
		p.say(Different, "left out: Envoy does this in its own way", "buffering.memRequestBodyBytes", "buffering.memResponseBodyBytes", "buffering.retryExpression")
	case "compress", "retry", "circuitBreaker", "errors", "contentType", "grpcWeb":
		p.say(Different, map[string]string{
			"compress": "left out: responses reach the client as the server sends them", "retry": "left out: failed requests are not repeated; a TrafficPolicy can say it",
			"circuitBreaker": "left out: a BackendConfigPolicy has circuitBreakers and outlierDetection", "errors": "left out: errors of the server reach the client",
			"contentType": "left out: Envoy adds no content type", "grpcWeb": "left out: browsers' gRPC-Web is not translated",
		}[kind], kind)
	case "redirectRegex":
		e.readRedirectRegex(p)
	case "forwardAuth":
		m.forwardAuth(p, e)
	case "digestAuth", "rateLimit", "inFlightReq", "passTLSClientCert", "plugin", "replacePathRegex", "stripPrefixRegex":
		hint := map[string]string{"rateLimit": "write rateLimit in a TrafficPolicy: its limit is for all clients together"}[kind]
		p.failClosed("import cannot express "+kind, hint, kind)
	}
}

// readRedirectScheme adds the redirect of the middleware redirectScheme (the parameter p) to e. If the scheme
// or port is invalid, routers that use the middleware answer 500.
func (e *effect) readRedirectScheme(p *part) {
	scheme := text(p.get("redirectScheme.scheme"))
	if scheme != "http" && scheme != "https" {
		p.failClosed("the scheme is not http or https", "", "redirectScheme")
		return
	}
	to := map[string]any{"scheme": scheme, "statusCode": int64(302), "port": map[string]int64{"http": 80, "https": 443}[scheme]}
	e.redirects = append(e.redirects, &redirect{fields: to, onlyFrom: map[string]string{"https": "http", "http": "https"}[scheme]})
	if yes(p.get("redirectScheme.permanent")) {
		to["statusCode"] = int64(301)
	}
	if port := p.get("redirectScheme.port"); port != nil {
		n, ok := number(port)
		if !ok || n < 1 || n > 65535 {
			p.failClosed("the port is no number", "", "redirectScheme.port")
		}
		to["port"] = n
	}
	p.say(Different, "a redirect, with 301 or 302 for all methods, where Traefik answers 307 or 308 to some", "redirectScheme.scheme", "redirectScheme.permanent", "redirectScheme.port")
}

// readBasicAuth sets the field basicAuth of e.policy to the users of the middleware basicAuth (the parameter
// p). If a user or option cannot be expressed, or there is no user, routers that use the middleware answer 500.
func (e *effect) readBasicAuth(p *part) {
	var users []any
	for i, line := range list(p.get("basicAuth.users")) {
		field := fmt.Sprintf("basicAuth.users[%d]", i)
		name, hash, _ := strings.Cut(text(line), ":")
		if name == "" || !strings.HasPrefix(hash, "{SHA}") {
			p.failClosed("Envoy reads passwords that are hashed with {SHA} alone", "gatefold hash writes them; or leave the user out with --accept "+p.id(), field)
			continue
		}
		users = append(users, text(line))
	}
	if p.get("basicAuth.usersFile") != nil {
		p.failClosed("import reads no further file", "write its lines as users", "basicAuth.usersFile")
	}
	switch {
	case len(users) > 0:
		e.policy["basicAuth"] = map[string]any{"users": users}
		p.say(Same, "basicAuth: the users whose hashes Envoy reads", "basicAuth.users")
	case p.closed == "":
		p.failClosed("it has no users", "", "basicAuth")
		return
	}
	if yes(p.get("basicAuth.removeHeader")) {
		p.say(Same, "the server does not receive the header", "basicAuth.removeHeader")
	} else {
		p.say(Different, "the server does not receive the header authorization", "basicAuth.users", "basicAuth.removeHeader")
	}
	p.say(Different, "the realm is Envoy's", "basicAuth.realm")
}

// readAddresses sets the field acl of e.policy to the ranges of the middleware p. The parameter kind is
// ipAllowList, or ipWhiteList in version 2. If a range is invalid or ipStrategy is set, routers that use the
// middleware answer 500.
func (e *effect) readAddresses(p *part, kind string) {
	var cidrs []any
	for i, entry := range list(p.get(kind + ".sourceRange")) {
		prefix, err := network(text(entry))
		if err != nil {
			p.failClosed("it is no network", "", fmt.Sprintf("%s.sourceRange[%d]", kind, i))
			continue
		}
		if !slices.Contains(cidrs, any(prefix.String())) {
			cidrs = append(cidrs, prefix.String())
		}
	}
	acl := map[string]any{"defaultAction": "deny"}
	if len(cidrs) > 0 {
		acl["rules"] = []any{map[string]any{"action": "allow", "cidrs": cidrs}}
	}
	if code, ok := number(p.get(kind + ".rejectStatusCode")); ok {
		acl["denyResponse"] = map[string]any{"statusCode": code}
		p.say(Same, "denyResponse", kind+".rejectStatusCode")
	}
	e.policy["acl"] = acl
	p.say(Different, "acl, by the address that Envoy takes for the client's: look at --trusted-hops", kind+".sourceRange")
	if p.get(kind+".ipStrategy") != nil {
		p.failClosed("which address is the client's is said for all requests", "serve with --trusted-hops; docs/guides/client-addresses.md", kind+".ipStrategy")
	}
}
