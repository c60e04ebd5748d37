package importer

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// nginxPrefix is the prefix of the annotations that ingress-nginx reads.
const nginxPrefix = "nginx.ingress.kubernetes.io/"

// settings are the settings of an Ingress, read from its annotations.
type settings struct {
	*report
	ingress *item
	values  map[string]string // annotations of ingress-nginx by name, without the prefix
	hosts   []string

	closed     string // what makes all paths of the Ingress answer 500: a field, or "the class"; "" if nothing
	closedWhy  string // the same as a sentence, for the written file
	closedHost string // the annotation that makes all hosts of the Ingress answer 500, "" if none
	aliases    []string
	lostAlias  string // the reason why the routes without a hostname answer 500, "" if they do not

	regex         bool
	rewrite       string
	sslRedirect   bool
	forceRedirect bool
	redirect      map[string]any // a RequestRedirect, nil for none
	appRoot       string
	toWWW         bool   // from-to-www-redirect
	passthrough   bool   // ssl-passthrough
	prefix        string // the header X-Forwarded-Prefix, "" for none
	upstreamHost  string
	protocol      string // of backends; "" is HTTP/1.1

	canary                            bool
	weight, total                     int64
	header, headerValue, headerRegexp string
	cookie                            string

	policy map[string]any // fields of a TrafficPolicy
	// ofRules are the indexes of verdicts about annotations that rules with backends or redirects express, by the name
	// of the annotation. Such a verdict is wrong if no such rule is written (see outcomes).
	ofRules map[string]int
}

// settings returns the settings of an Ingress from its annotations, and adds a verdict for each annotation. The
// paths of the Ingress answer 500 if import cannot express an annotation, or if another controller than ingress-nginx
// may read an annotation. Annotations that Options.Accept names are left out of the settings.
func (n *nginx) settings(ingress *item) *settings {
	s := &settings{report: n.report, ingress: ingress, values: map[string]string{}, sslRedirect: true, total: 100, policy: map[string]any{}, ofRules: map[string]int{}}
	annotations, _ := at(ingress.fields, "metadata", "annotations").(map[string]any)
	for name, value := range annotations {
		if key, ok := strings.CutPrefix(name, nginxPrefix); ok && !n.accept.contains(name) {
			s.values[key] = strings.TrimSpace(fmt.Sprint(value))
		}
	}
	for _, name := range sortedKeys(annotations) {
		key, ours := strings.CutPrefix(name, nginxPrefix)
		switch {
		case n.accept.contains(name):
			s.say(Different, name, "left out, as --accept says")
		case ours:
			s.annotation(key, s.values[key])
		case name == "kubernetes.io/ingress.class":
			s.say(Different, name, "its class is imported; gatefold has none")
		case ofController(name) || ofOtherPrefix(name):
			s.failClosed("another controller reads this annotation, and import does not know what it protects", "metadata.annotations["+name+"]")
		default:
			s.say(Same, name, "ingress-nginx does not read it")
		}
	}
	n.lostAlias = cmp.Or(n.lostAlias, s.lostAlias)
	return s
}

// say adds a verdict about an annotation.
func (s *settings) say(class Class, name, message string) {
	s.add(class, s.ingress.place, s.ingress.name(), message, join("metadata.annotations", name))
}

// failClosed makes all paths of the Ingress answer 500, because import cannot express the given fields of the
// Ingress. It adds a verdict with the reason, the parameter message.
func (s *settings) failClosed(message string, fields ...string) {
	s.closed = cmp.Or(s.closed, fields[0])
	s.closedWhy = cmp.Or(s.closedWhy, fields[0]+": "+message)
	accept := s.ingress.name() + "/" + removable(fields[0])
	if name, ok := strings.CutPrefix(fields[0], "metadata.annotations["); ok {
		accept = strings.TrimSuffix(name, "]")
	}
	s.protecting(s.ingress.place, s.ingress.name(), "the paths answer 500: "+message,
		"write a policy for it, or leave it out with --accept "+accept, fields...)
}

// annotation reads one annotation of ingress-nginx into s, and adds the verdict. The parameter key is the name
// of the annotation without the prefix. If import cannot express the annotation, the paths of the Ingress
// answer 500 (failClosed). Some annotations apply to a whole host in nginx (see ofHost). If import cannot express one
// of these, all paths of the Ingress's hosts answer 500, even paths of other Ingresses.
func (s *settings) annotation(key, value string) {
	name := nginxPrefix + key
	field := join("metadata.annotations", name)
	fail := func(why string) { s.failClosed(why, field) }
	on, isBoolean := boolean(value)
	if reason := s.ofHost(key); reason != "" {
		s.closedHost = cmp.Or(s.closedHost, fmt.Sprintf("%s of %s: %s", name, s.ingress.name(), reason))
		fail("all of its hosts are closed: " + reason)
		return
	}
	if !isBoolean && isSwitch(key) {
		fail("it is neither true nor false")
		return
	}
	class, message := s.setting(key, value, on)
	ofRules := class != "" && key != "use-regex" && key != "server-alias" && key != "from-to-www-redirect"
	if class == "" {
		class, message = s.protection(key, value)
	}
	switch class {
	case "":
		s.harmless(key, field)
	case Refused:
		fail(message)
	default:
		if ofRules {
			s.ofRules[name] = len(s.verdicts)
		}
		s.say(class, name, message)
	}
}

// setting reads an annotation that is about hosts, paths, redirects and backends into s. The result class is "" if the
// annotation is none of these, and Refused if its value cannot be expressed; message is then the reason.
func (s *settings) setting(key, value string, on bool) (class Class, message string) {
	class = Same
	switch key {
	case "ssl-passthrough":
		message = "TLS ends at the Gateway"
		if s.passthrough = on; on {
			class, message = Different, "a TLSRoute to the backend of the path /, as with --enable-ssl-passthrough of the controller"
		}
	case "use-regex":
		s.regex = on
		class, message = Different, "all paths of its hosts are regular expressions of RE2, without regard to case"
	case "rewrite-target":
		s.rewrite = value
		class, message = Different, "the path that the backend receives; where parts of the path are kept, as a prefix"
	case "ssl-redirect":
		s.sslRedirect, message = on, "http is redirected to https where the host has a certificate"
	case "force-ssl-redirect":
		s.forceRedirect, message = on, "http is redirected to https"
	case "app-root":
		return s.readAppRoot(value)
	case "from-to-www-redirect":
		s.toWWW, message = on, "a redirect from the name with www. or without it, whichever has no Ingress"
		if !on {
			message = "it says nothing"
		}
	case "x-forwarded-prefix":
		return s.readForwardedPrefix(value)
	case "permanent-redirect", "temporal-redirect", "permanent-redirect-code", "temporal-redirect-code":
		return s.readRedirects(key, value)
	case "backend-protocol":
		return s.readProtocol(value)
	case "upstream-vhost":
		s.upstreamHost, message = value, "the host that the backend receives"
		if len(validation.IsDNS1123Subdomain(value)) > 0 {
			return Refused, "it is no DNS name"
		}
	case "server-alias":
		if !s.readAliases(value) {
			s.lostAlias = cmp.Or(s.lostAlias, s.ingress.name()+" has an alias that cannot be expressed, and a request for it would arrive here")
			return Refused, "it is no list of DNS names, and hosts without a name are closed"
		}
		message = "further hostnames"
	case "canary", "canary-weight", "canary-weight-total", "canary-by-header", "canary-by-header-value", "canary-by-header-pattern", "canary-by-cookie":
		if !s.readCanary(key, value) {
			return Refused, "it is no value that can be expressed"
		}
		class, message = Different, "requests of the same path are split; the settings of the Ingress without canary count"
	case "satisfy":
		class, message = Different, "both the address and the credentials must be right"
	default:
		return "", ""
	}
	return class, message
}

// readProtocol sets the protocol for the backends of the Ingress. If gatefold supports the protocol, class is
// Same or Different, and message says what the backends receive. Otherwise class is Refused, and message is the
// reason.
func (s *settings) readProtocol(value string) (class Class, message string) {
	switch s.protocol = strings.ToUpper(value); s.protocol {
	case "HTTP", "GRPC":
		return Same, "the protocol of the backend"
	case "AUTO_HTTP":
		return Different, "the backend receives HTTP, also of requests with TLS"
	}
	return Refused, "gatefold verifies the certificates of backends, and needs a BackendTLSPolicy for that"
}

// isSwitch reports whether import requires a boolean (see boolean) as the value of the annotation key.
func isSwitch(key string) bool {
	return slices.Contains([]string{"use-regex", "ssl-redirect", "force-ssl-redirect", "enable-cors", "cors-allow-credentials", "canary", "ssl-passthrough", "from-to-www-redirect"}, key)
}

// ofHost returns the reason why the annotation key makes all paths of the Ingress's hosts answer 500, even
// paths of other Ingresses: in nginx the annotation applies to the whole host. It returns "" if the annotation
// does not have this effect.
func (s *settings) ofHost(key string) (reason string) {
	switch {
	case key == "server-snippet":
		return "a snippet of nginx has no equal"
	case strings.HasPrefix(key, "auth-tls-") && s.values["auth-tls-secret"] != "":
		return "nginx asks clients for certificates; a Gateway can say that in tls.frontend"
	}
	return ""
}

// readAliases adds the DNS names and wildcards (*.NAME) in value, a list with commas, to s.aliases. It leaves out
// other entries of the list, and returns false if there are any.
func (s *settings) readAliases(value string) bool {
	all := true
	for _, alias := range strings.Split(value, ",") {
		alias = strings.ToLower(strings.TrimSpace(alias))
		if len(validation.IsDNS1123Subdomain(strings.TrimPrefix(alias, "*."))) > 0 {
			all = false
			continue
		}
		s.aliases = append(s.aliases, alias)
	}
	return all
}

// protection reads an annotation that a TrafficPolicy can express, and sets the fields of the policy. The result
// class is then Same or Different, and the result message says how the policy expresses the annotation. If import
// cannot express the value of the annotation, class is Refused, and message is the reason. For an annotation that
// protection does not know, class and message are "".
func (s *settings) protection(key, value string) (class Class, message string) {
	switch key {
	case "whitelist-source-range", "allowlist-source-range", "denylist-source-range":
		if !s.readRanges(value) {
			return Refused, "it is no list of networks"
		}
		if old, two := s.values["whitelist-source-range"]; two && key != "denylist-source-range" && old != cmp.Or(s.values["allowlist-source-range"], old) {
			return Refused, "allowlist-source-range and whitelist-source-range differ"
		}
		s.writeACL()
		return Different, "acl, by the address that Envoy takes for the client's: --trusted-hops is what proxy-real-ip and use-forwarded-headers were"
	case "auth-type", "auth-secret", "auth-secret-type", "auth-realm":
		return s.readBasicAuth(key)
	case "enable-cors", "cors-allow-origin", "cors-allow-methods", "cors-allow-headers", "cors-allow-credentials", "cors-expose-headers", "cors-max-age":
		s.readCORS()
		return Different, "cors, without origins that have a wildcard; Envoy answers preflight requests of allowed origins alone"
	case "proxy-read-timeout", "proxy-send-timeout":
		seconds, err := strconv.Atoi(strings.TrimSuffix(value, "s"))
		if err != nil || seconds < 0 || seconds > 1_000_000 {
			return Refused, "it is no number of seconds"
		}
		s.readIdle(seconds)
		return Different, "timeouts.streamIdle: the time without data in either direction"
	case "proxy-body-size", "client-max-body-size":
		return s.readBodySize(value)
	}
	return "", ""
}

// harmless handles an annotation that import does not read. If the annotation is known to protect nothing, such as
// one for buffer sizes, harmless only adds a verdict. Otherwise the paths of the Ingress answer 500.
func (s *settings) harmless(key, field string) {
	words := map[string]string{
		"affinity": "requests of one client may go to several endpoints", "affinity-mode": "", "affinity-canary-behavior": "",
		"session-cookie-name": "", "session-cookie-path": "", "session-cookie-max-age": "", "session-cookie-expires": "", "session-cookie-samesite": "",
		"session-cookie-secure": "", "session-cookie-change-on-failure": "", "session-cookie-domain": "",
		"proxy-connect-timeout": "connections are given up after Envoy's time", "proxy-buffering": "", "proxy-buffer-size": "", "proxy-buffers-number": "",
		"proxy-busy-buffers-size": "", "proxy-max-temp-file-size": "", "proxy-request-buffering": "", "proxy-http-version": "", "client-body-buffer-size": "",
		"proxy-next-upstream": "failed requests are not repeated", "proxy-next-upstream-tries": "", "proxy-next-upstream-timeout": "",
		"load-balance": "Envoy balances by its own way", "upstream-hash-by": "Envoy balances by its own way",
		"upstream-hash-by-subset": "", "upstream-hash-by-subset-size": "", "service-upstream": "endpoints are used, not the address of the Service",
		"enable-access-log": "the Gateway has an access log for all", "enable-rewrite-log": "", "connection-proxy-header": "",
		"custom-http-errors": "errors of the backend reach the client", "default-backend": "errors of the backend reach the client",
		"disable-proxy-intercept-errors": "", "http2-push-preload": "", "enable-opentracing": "", "enable-opentelemetry": "", "preserve-trailing-slash": "",
		"proxy-cookie-path": "cookies keep the path that the backend writes", "proxy-cookie-domain": "cookies keep the domain that the backend writes",
		"proxy-redirect-from": "redirects of the backend reach the client as they are", "proxy-redirect-to": "", "use-port-in-redirects": "",
		"mirror-target": "requests are not mirrored", "mirror-request-body": "", "mirror-host": "", "ssl-prefer-server-ciphers": "",
	}
	message, known := words[key]
	if !known {
		s.failClosed("import cannot express it", field)
		return
	}
	s.say(Different, nginxPrefix+key, cmp.Or(message, "left out: Envoy does this in its own way"))
}

// readRanges reports whether a value is a list of IP addresses or networks, separated by commas. It sets nothing.
func (s *settings) readRanges(value string) bool {
	for _, word := range strings.Split(value, ",") {
		if _, err := network(word); err != nil {
			return false
		}
	}
	return true
}

// network parses an address or a network. An address becomes a network of one address. It returns an error for
// any other text.
func network(word string) (netip.Prefix, error) {
	word = strings.TrimSpace(word)
	if address, err := netip.ParseAddr(word); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(word)
	return prefix.Masked(), err
}

// writeACL sets the field acl of the TrafficPolicy from the annotations for allowed and for denied networks. In
// nginx, a denied network is always denied; if there is a list of allowed networks, all others are denied, too.
// In an acl, the network with the longest prefix decides. So writeACL leaves out allowed networks that are equal
// to a denied network or inside it.
func (s *settings) writeACL() {
	var allow, deny []netip.Prefix
	read := func(key string, into *[]netip.Prefix) bool {
		value, ok := s.values[key]
		for _, word := range strings.Split(value, ",") {
			if prefix, err := network(word); err == nil {
				*into = append(*into, prefix)
			}
		}
		return ok
	}
	only := read("allowlist-source-range", &allow)
	if !only {
		only = read("whitelist-source-range", &allow)
	}
	read("denylist-source-range", &deny)
	allow = slices.DeleteFunc(allow, func(p netip.Prefix) bool {
		return slices.ContainsFunc(deny, func(d netip.Prefix) bool { return d.Bits() <= p.Bits() && d.Contains(p.Addr()) })
	})
	acl := map[string]any{"defaultAction": "allow"}
	if only {
		acl["defaultAction"] = "deny"
	}
	var rules []any
	for _, entry := range []struct {
		action string
		ranges []netip.Prefix
	}{{"allow", allow}, {"deny", deny}} {
		var cidrs []any
		for _, prefix := range entry.ranges {
			if !slices.Contains(cidrs, any(prefix.String())) {
				cidrs = append(cidrs, prefix.String())
			}
		}
		if len(cidrs) > 0 {
			rules = append(rules, map[string]any{"cidrs": cidrs, "action": entry.action})
		}
	}
	if len(rules) > 0 {
		acl["rules"] = rules
	}
	s.policy["acl"] = acl
}
