package importer

import (
	"slices"
	"strconv"
	"strings"
)

// Traefik ignores the case of field names. It also accepts a text with commas for a list
// (github.com/traefik/paerser). import knows only the spellings of Traefik's documentation. So other spellings
// are rewritten first, and no field is overlooked.

// knownFields returns the paths of the fields that import knows in an entry of Traefik's configuration. The
// parameter kind is the kind of the entry, such as router. In a path, [] stands for a list of texts, and [n]
// for a list of other values. The result is nil for kinds whose fields import does not know.
func knownFields(kind string) []string {
	switch kind {
	case "router":
		return []string{"entryPoints[]", "middlewares[]", "rule", "ruleSyntax", "service", "priority", "tls.options", "tls.certResolver", "tls.domains[n].main", "tls.domains[n].sans[]", "observability"}
	case "tcpRouter":
		return []string{"entryPoints[]", "middlewares[]", "rule", "service", "priority", "tls.passthrough", "tls.options", "tls.certResolver"}
	case "service":
		return []string{
			"loadBalancer.servers[n].url", "loadBalancer.servers[n].weight", "loadBalancer.sticky", "loadBalancer.healthCheck", "loadBalancer.passiveHealthCheck",
			"loadBalancer.passHostHeader", "loadBalancer.responseForwarding", "loadBalancer.serversTransport", "loadBalancer.strategy",
			"weighted.services[n].name", "weighted.services[n].weight", "weighted.sticky", "weighted.healthCheck",
			"mirroring.service", "mirroring.mirrorBody", "mirroring.maxBodySize", "mirroring.healthCheck", "mirroring.mirrors[n].name", "mirroring.mirrors[n].percent",
			"failover", "highestRandomWeight",
		}
	case "middleware":
		return slices.Concat([]string{
			"chain.middlewares[]", "stripPrefix.prefixes[]", "stripPrefix.forceSlash", "addPrefix.prefix", "replacePath.path",
			"redirectScheme.scheme", "redirectScheme.permanent", "redirectScheme.port", "redirectRegex.regex", "redirectRegex.replacement", "redirectRegex.permanent",
			"basicAuth.users[]", "basicAuth.usersFile", "basicAuth.realm", "basicAuth.removeHeader", "basicAuth.headerField",
			"ipAllowList.sourceRange[]", "ipAllowList.rejectStatusCode", "ipAllowList.ipStrategy", "ipWhiteList.sourceRange[]", "ipWhiteList.ipStrategy",
			"buffering.maxRequestBodyBytes", "buffering.memRequestBodyBytes", "buffering.maxResponseBodyBytes", "buffering.memResponseBodyBytes", "buffering.retryExpression",
			"forwardAuth.address", "forwardAuth.trustForwardHeader", "forwardAuth.authResponseHeaders[]", "forwardAuth.authRequestHeaders[]", "forwardAuth.authResponseHeadersRegex",
			"compress", "retry", "circuitBreaker", "errors", "contentType", "grpcWeb", "digestAuth", "rateLimit", "inFlightReq", "passTLSClientCert", "plugin", "replacePathRegex", "stripPrefixRegex",
			"headers.customRequestHeaders", "headers.customResponseHeaders",
			"headers.accessControlAllowOriginList[]", "headers.accessControlAllowMethods[]", "headers.accessControlAllowHeaders[]", "headers.accessControlExposeHeaders[]",
			"headers.sslProxyHeaders", "headers.hostsProxyHeaders[]",
		}, headerFields())
	case "tlsOption":
		return []string{"sniStrict", "cipherSuites[]", "curvePreferences[]", "alpnProtocols[]", "preferServerCipherSuites", "minVersion", "maxVersion", "clientAuth"}
	case "certificate":
		return []string{"certFile", "keyFile", "stores[]"}
	}
	return nil
}

// headerFields returns those fields of the middleware "headers" that have one value.
func headerFields() []string {
	var all []string
	for _, name := range []string{
		"frameDeny", "contentTypeNosniff", "browserXssFilter", "customFrameOptionsValue", "contentSecurityPolicy", "customBrowserXSSValue", "contentSecurityPolicyReportOnly",
		"referrerPolicy", "permissionsPolicy", "featurePolicy", "stsSeconds", "stsIncludeSubdomains", "stsPreload", "forceSTSHeader", "sslRedirect", "sslTemporaryRedirect",
		"sslForceHost", "isDevelopment", "accessControlMaxAge", "accessControlAllowCredentials", "addVaryHeader",
	} {
		all = append(all, "headers."+name)
	}
	return all
}

// respell rewrites a part (a router, service, middleware and so on) to the field names of Traefik's
// documentation. It also turns a text into a list where Traefik takes a list. If a field occurs in two
// spellings, respell renames at most one. The other stays an unknown field, and routers that use the part answer
// 500 (see rest).
func (p *part) respell() {
	p.value = p.respelled(p.value, "", "", knownFields(p.kind))
}

// respelled returns value with its known fields, at any depth, renamed to the spelling of Traefik's documentation.
// The parameter known has the paths of the known fields below value (see knownFields). The other parameters are for
// verdicts: docPath is the path of value in the documented spelling, and userPath is the path of value as the user
// wrote it.
func (p *part) respelled(value any, docPath, userPath string, known []string) any {
	object, isMap := value.(map[string]any)
	if !isMap {
		return value
	}
	names, below := nextNames(known)
	made := map[string]any{}
	for _, key := range sortedKeys(object) {
		name, field := key, join(userPath, key)
		for _, want := range names {
			if _, twice := object[want]; strings.EqualFold(want, key) && key != want && !twice && made[want] == nil {
				name = want
				p.add(Same, "read as "+join(docPath, want), field)
			}
		}
		made[name] = p.respelledField(object[key], join(docPath, name), field, below[name])
	}
	return made
}

// respelledField does for the value of one field what respelled does for an object. If Traefik wants a list of
// texts, a text becomes a list: its parts between commas. The parameter known has the known fields below this field
// (see knownFields), as paths that begin after the field. For example, the path "[]" means that the value is a list
// of texts. The parameters docPath and userPath are the path of the field, as in respelled.
func (p *part) respelledField(value any, docPath, userPath string, known []string) any {
	words, isText := value.(string)
	items, isList := value.([]any)
	switch {
	case slices.Contains(known, "[]") && isText:
		p.add(Same, "read as a list", userPath)
		var all []any
		for _, word := range strings.Split(words, ",") {
			all = append(all, strings.TrimSpace(word))
		}
		return all
	case isList:
		below, made := cutAll(known, "[n]."), make([]any, len(items))
		for i := range items {
			index := "[" + strconv.Itoa(i) + "]"
			made[i] = p.respelled(items[i], docPath+index, userPath+index, below)
		}
		return made
	}
	return p.respelled(value, docPath, userPath, cutAll(known, "."))
}

// nextNames splits each of the given paths after its first field name: "tls.options" becomes "tls" and ".options".
// It returns the first names without duplicates (names). For each first name, the map below has what follows this
// name in the paths, such as "[]", ".options", or "" if nothing follows.
func nextNames(paths []string) (names []string, below map[string][]string) {
	below = map[string][]string{}
	for _, field := range paths {
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			end = len(field)
		}
		name := field[:end]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		below[name] = append(below[name], field[end:])
	}
	return names, below
}

// cutAll returns those of the texts that have a prefix (the parameter begin), without this prefix.
func cutAll(all []string, begin string) []string {
	var rest []string
	for _, text := range all {
		if after, ok := strings.CutPrefix(text, begin); ok {
			rest = append(rest, after)
		}
	}
	return rest
}
