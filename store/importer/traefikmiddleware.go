package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// effect is what all middlewares of a router together do to its requests and responses.
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

// add adds the effect of the next middleware. If the two effects cannot be combined, it sets e.closed.
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

// middleware returns the effect of the middleware with a name. The effect is empty if options.Accept names the
// middleware. Its field closed is set if the middleware does not exist, is part of a loop, or cannot be
// expressed.
func (t *traefik) middleware(name string) *effect {
	plain, ok := local(name)
	p := t.parts["middleware/"+plain]
	if ok && p != nil && p.accepted {
		return newEffect()
	}
	if !ok || p == nil {
		return &effect{closed: fmt.Sprintf("the middleware %q is not among the files", name)}
	}
	if known := t.effects[plain]; known != nil {
		return known
	}
	e := newEffect()
	e.closed = "a chain of middlewares that leads to itself"
	t.effects[plain] = e
	made := newEffect()
	kinds, _ := p.value.(map[string]any)
	for _, kind := range sortedKeys(kinds) {
		t.readMiddleware(p, kind, made)
	}
	t.rest(p)
	if p.closed != "" {
		made.closed = cmp.Or(made.closed, p.closed)
	}
	*e = *made
	return e
}

// readMiddleware adds the effect of one kind of middleware in p to e. An unknown kind adds nothing: rest then
// makes the routers answer 500.
func (t *traefik) readMiddleware(p *part, kind string, e *effect) {
	get := func(field string) any { return p.get(kind + "." + field) }
	switch kind {
	case "chain":
		for i, name := range list(get("middlewares")) {
			e.add(t.middleware(text(name)))
			t.say(p, Same, "its middlewares, in this order", fmt.Sprintf("chain.middlewares[%d]", i))
		}
	case "stripPrefix":
		step := pathStep{kind: "strip"}
		for _, prefix := range list(get("prefixes")) {
			if !plainPath.MatchString(text(prefix)) {
				t.failClosed(p, "a prefix is no plain path", "", "stripPrefix.prefixes")
			}
			step.values = append(step.values, text(prefix))
		}
		e.paths = append(e.paths, step)
		t.say(p, Different, "the path that the server receives; it does not receive X-Forwarded-Prefix", "stripPrefix.prefixes", "stripPrefix.forceSlash")
	case "addPrefix", "replacePath":
		field := map[string]string{"addPrefix": "prefix", "replacePath": "path"}[kind]
		value := text(get(field))
		if !plainPath.MatchString(value) || dotPath.MatchString(value) {
			t.failClosed(p, "it is no plain path", "", kind)
			return
		}
		e.paths = append(e.paths, pathStep{kind: strings.TrimSuffix(strings.TrimSuffix(kind, "Prefix"), "Path"), values: []string{value}})
		t.say(p, Same, "the path that the server receives", kind+"."+field)
	case "redirectScheme":
		t.redirectScheme(p, e)
	case "headers":
		t.headers(p, e)
	case "basicAuth":
		t.basicAuth(p, e)
	case "ipAllowList", "ipWhiteList":
		t.addresses(p, kind, e)
	case "buffering":
		if size, ok := number(get("maxRequestBodyBytes")); ok && size > 0 && size < 4<<30 {
			e.policy["buffer"] = map[string]any{"maxRequestSize": strconv.FormatInt(size, 10)}
			t.say(p, Different, "buffer.maxRequestSize: Envoy reads the whole request before it sends it on", "buffering.maxRequestBodyBytes")
		} else if ok && size == 0 {
			t.say(p, Same, "no limit", "buffering.maxRequestBodyBytes")
		}
		t.say(p, Different, "left out: Envoy does this in its own way", "buffering.memRequestBodyBytes", "buffering.memResponseBodyBytes", "buffering.retryExpression")
	case "compress", "retry", "circuitBreaker", "errors", "contentType", "grpcWeb":
		t.say(p, Different, map[string]string{
			"compress": "left out: responses reach the client as the server sends them", "retry": "left out: failed requests are not repeated; a TrafficPolicy can say it",
			"circuitBreaker": "left out: a BackendConfigPolicy has circuitBreakers and outlierDetection", "errors": "left out: errors of the server reach the client",
			"contentType": "left out: Envoy adds no content type", "grpcWeb": "left out: browsers' gRPC-Web is not translated",
		}[kind], kind)
	case "redirectRegex":
		t.redirectRegex(p, e)
	case "forwardAuth":
		t.forwardAuth(p, e)
	case "digestAuth", "rateLimit", "inFlightReq", "passTLSClientCert", "plugin", "replacePathRegex", "stripPrefixRegex":
		hint := map[string]string{"rateLimit": "write rateLimit in a TrafficPolicy: its limit is for all clients together"}[kind]
		t.failClosed(p, "import cannot express "+kind, hint, kind)
	}
}

// redirectScheme adds the redirect of the middleware redirectScheme to e. With an invalid scheme or port,
// routers that use p answer 500.
func (t *traefik) redirectScheme(p *part, e *effect) {
	scheme := text(p.get("redirectScheme.scheme"))
	if scheme != "http" && scheme != "https" {
		t.failClosed(p, "the scheme is not http or https", "", "redirectScheme")
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
			t.failClosed(p, "the port is no number", "", "redirectScheme.port")
		}
		to["port"] = n
	}
	t.say(p, Different, "a redirect, with 301 or 302 for all methods, where Traefik answers 307 or 308 to some", "redirectScheme.scheme", "redirectScheme.permanent", "redirectScheme.port")
}

// basicAuth sets the field basicAuth of e.policy to the users of the middleware basicAuth. If a user or option
// cannot be expressed, or there is no user, routers that use p answer 500.
func (t *traefik) basicAuth(p *part, e *effect) {
	var users []any
	for i, line := range list(p.get("basicAuth.users")) {
		field := fmt.Sprintf("basicAuth.users[%d]", i)
		name, hash, _ := strings.Cut(text(line), ":")
		if name == "" || !strings.HasPrefix(hash, "{SHA}") {
			t.failClosed(p, "Envoy reads passwords that are hashed with {SHA} alone", "gatefold hash writes them; or leave the user out with --accept "+p.id(), field)
			continue
		}
		users = append(users, text(line))
	}
	if p.get("basicAuth.usersFile") != nil {
		t.failClosed(p, "import reads no further file", "write its lines as users", "basicAuth.usersFile")
	}
	if len(users) == 0 && p.closed == "" {
		t.failClosed(p, "it has no users", "", "basicAuth")
		return
	}
	e.policy["basicAuth"] = map[string]any{"users": users}
	t.say(p, Same, "basicAuth", "basicAuth.users")
	if yes(p.get("basicAuth.removeHeader")) {
		t.say(p, Same, "the server does not receive the header", "basicAuth.removeHeader")
	} else {
		t.say(p, Different, "the server does not receive the header authorization", "basicAuth.users", "basicAuth.removeHeader")
	}
	t.say(p, Different, "the realm is Envoy's", "basicAuth.realm")
}

// addresses sets the field acl of e.policy from the middleware ipAllowList, or ipWhiteList of version 2. If a
// range is invalid or ipStrategy is set, routers that use p answer 500.
func (t *traefik) addresses(p *part, kind string, e *effect) {
	var cidrs []any
	for i, entry := range list(p.get(kind + ".sourceRange")) {
		prefix, err := network(text(entry))
		if err != nil {
			t.failClosed(p, "it is no network", "", fmt.Sprintf("%s.sourceRange[%d]", kind, i))
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
		t.say(p, Same, "denyResponse", kind+".rejectStatusCode")
	}
	e.policy["acl"] = acl
	t.say(p, Different, "acl, by the address that Envoy takes for the client's: look at --trusted-hops", kind+".sourceRange")
	if p.get(kind+".ipStrategy") != nil {
		t.failClosed(p, "which address is the client's is said for all requests", "serve with --trusted-hops; docs/guides/client-addresses.md", kind+".ipStrategy")
	}
}

// headers adds the effect of the middleware headers to e, with its options for CORS and security. If a header
// cannot be expressed, routers that use p answer 500.
func (t *traefik) headers(p *part, e *effect) {
	h, _ := p.get("headers").(map[string]any)
	custom := func(key string, into map[string]string) {
		values, _ := h[key].(map[string]any)
		for _, name := range sortedKeys(values) {
			field := join("headers."+key, name)
			value, lower := fmt.Sprint(values[name]), strings.ToLower(name)
			switch {
			case values[name] == nil || !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") || len(value) > 4000:
				t.failClosed(p, "it is no header that can be expressed", "", field)
			case lower == "host" && key == "customRequestHeaders" && len(validation.IsDNS1123Subdomain(value)) == 0:
				e.host = value
				t.say(p, Same, "the host that the server receives", field)
			case lower == "host" || strings.HasPrefix(lower, "x-envoy") || lower == "connection" || lower == "content-length":
				t.failClosed(p, "it is no header that can be expressed", "", field)
			default:
				into[lower] = value
				t.say(p, Same, "a header that is set, or removed if it is empty", field)
			}
		}
	}
	custom("customRequestHeaders", e.request)
	custom("customResponseHeaders", e.response)
	set := func(key, header, value string) {
		if h[key] == nil {
			return
		}
		if strings.ContainsAny(value, "\r\n\x00") || len(value) > 4000 {
			t.failClosed(p, "it is no header that can be expressed", "", "headers."+key)
			return
		}
		if value != "" && value != "false" {
			e.response[header] = value
		}
		t.say(p, Same, "the header "+header, "headers."+key)
	}
	on := func(key, value string) string {
		if yes(h[key]) {
			return value
		}
		return ""
	}
	set("frameDeny", "x-frame-options", on("frameDeny", "DENY"))
	set("contentTypeNosniff", "x-content-type-options", on("contentTypeNosniff", "nosniff"))
	set("browserXssFilter", "x-xss-protection", on("browserXssFilter", "1; mode=block"))
	direct := map[string]string{
		"featurePolicy":           "feature-policy",
		"customFrameOptionsValue": "x-frame-options", "contentSecurityPolicy": "content-security-policy", "customBrowserXSSValue": "x-xss-protection",
		"contentSecurityPolicyReportOnly": "content-security-policy-report-only", "referrerPolicy": "referrer-policy", "permissionsPolicy": "permissions-policy",
	}
	for _, key := range slices.Sorted(maps.Keys(direct)) {
		set(key, direct[key], text(h[key]))
	}
	t.strictTransport(p, h, e)
	t.cors(p, h, e)
}

// strictTransport sets e.transport to the header Strict-Transport-Security. Options for redirects to https, if
// true, get no verdict here, so that rest makes the routers answer 500.
func (t *traefik) strictTransport(p *part, h map[string]any, e *effect) {
	if seconds, ok := number(h["stsSeconds"]); ok && seconds > 0 {
		e.transport = fmt.Sprintf("max-age=%d", seconds)
		if yes(h["stsIncludeSubdomains"]) {
			e.transport += "; includeSubDomains"
		}
		if yes(h["stsPreload"]) {
			e.transport += "; preload"
		}
		if yes(h["forceSTSHeader"]) {
			e.response["strict-transport-security"] = e.transport
		}
	}
	t.say(p, Same, "the header strict-transport-security", "headers.stsSeconds", "headers.stsIncludeSubdomains", "headers.stsPreload", "headers.forceSTSHeader")
	t.say(p, Different, "left out: listeners know whether a request came by TLS", "headers.sslProxyHeaders")
	for _, key := range []string{"sslRedirect", "sslTemporaryRedirect", "sslForceHost", "isDevelopment"} {
		if h[key] != nil && !yes(h[key]) {
			t.say(p, Same, "it says nothing", "headers."+key)
		}
	}
}

// cors sets the field cors of e.policy. It sets nothing if plainOrigins returns no origins. If it allows
// credentials for any origin, routers that use p answer 500.
func (t *traefik) cors(p *part, h map[string]any, e *effect) {
	cors := map[string]any{}
	fields := map[string]string{
		"accessControlAllowOriginList": "allowOrigins", "accessControlAllowMethods": "allowMethods",
		"accessControlAllowHeaders": "allowHeaders", "accessControlExposeHeaders": "exposeHeaders",
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		name := fields[key]
		if values := list(h[key]); len(values) > 0 {
			cors[name] = values
			t.say(p, Different, "cors, without origins that have a wildcard; Envoy answers preflight requests of allowed origins alone", "headers."+key)
		}
	}
	if age, ok := number(h["accessControlMaxAge"]); ok && age > 0 {
		cors["maxAge"] = age
	}
	origins, _ := plainOrigins(list(h["accessControlAllowOriginList"]))
	cors["allowOrigins"] = origins
	if yes(h["accessControlAllowCredentials"]) {
		if slices.Contains(origins, any("*")) {
			t.failClosed(p, "credentials for any origin: Envoy would answer with the origin", "name the origins", "headers.accessControlAllowCredentials")
		}
		cors["allowCredentials"] = true
	}
	t.say(p, Different, "cors", "headers.accessControlMaxAge", "headers.accessControlAllowCredentials", "headers.addVaryHeader")
	if len(origins) > 0 {
		e.policy["cors"] = cors
	}
}
