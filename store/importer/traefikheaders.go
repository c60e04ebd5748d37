package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// readHeaders adds to e the effect of a middleware of type headers (the parameter p): custom headers, and the
// options for security and CORS. If a header cannot be expressed, routers that use the middleware answer 500.
func (e *effect) readHeaders(p *part) {
	h, _ := p.get("headers").(map[string]any)
	custom := func(key string, into map[string]string) {
		values, _ := h[key].(map[string]any)
		for _, name := range sortedKeys(values) {
			field := join("headers."+key, name)
			value, lower := fmt.Sprint(values[name]), strings.ToLower(name)
			switch {
			case values[name] == nil || !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") || len(value) > 4000:
				p.failClosed("it is no header that can be expressed", "", field)
			case lower == "host" && key == "customRequestHeaders" && len(validation.IsDNS1123Subdomain(value)) == 0:
				e.host = value
				p.say(Same, "the host that the server receives", field)
			case lower == "host" || strings.HasPrefix(lower, "x-envoy") || lower == "connection" || lower == "content-length":
				p.failClosed("it is no header that can be expressed", "", field)
			default:
				into[lower] = value
				p.say(Same, "a header that is set, or removed if it is empty", field)
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
			p.failClosed("it is no header that can be expressed", "", "headers."+key)
			return
		}
		if value != "" && value != "false" {
			e.response[header] = value
		}
		p.say(Same, "the header "+header, "headers."+key)
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
	e.readTransport(p, h)
	e.readCORS(p, h)
}

// readTransport sets e.transport to the header Strict-Transport-Security of the middleware p. It leaves e.transport
// empty if the middleware does not set this header. With forceSTSHeader, readTransport also adds the header to
// e.response. The parameter h has the fields of the middleware.
//
// readTransport does not support the fields isDevelopment, sslRedirect, sslTemporaryRedirect and sslForceHost. If
// such a field is false, readTransport adds the verdict that the field has no effect. If such a field is true,
// readTransport adds no verdict for the field. The method part.rest finds fields without a verdict, and makes the
// routers that use the middleware answer 500.
func (e *effect) readTransport(p *part, h map[string]any) {
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
	p.say(Same, "the header strict-transport-security", "headers.stsSeconds", "headers.stsIncludeSubdomains", "headers.stsPreload", "headers.forceSTSHeader")
	p.say(Different, "left out: listeners know whether a request came by TLS", "headers.sslProxyHeaders")
	for _, key := range []string{"sslRedirect", "sslTemporaryRedirect", "sslForceHost", "isDevelopment"} {
		if h[key] != nil && !yes(h[key]) {
			p.say(Same, "it says nothing", "headers."+key)
		}
	}
}

// readCORS sets the field cors of e.policy from the CORS options of the middleware p. The parameter h has these
// options. If no allowed origin can be expressed (see plainOrigins), readCORS sets nothing. If any origin may
// send credentials, routers that use the middleware answer 500.
func (e *effect) readCORS(p *part, h map[string]any) {
	cors := map[string]any{}
	fields := map[string]string{
		"accessControlAllowOriginList": "allowOrigins", "accessControlAllowMethods": "allowMethods",
		"accessControlAllowHeaders": "allowHeaders", "accessControlExposeHeaders": "exposeHeaders",
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		name := fields[key]
		if values := list(h[key]); len(values) > 0 {
			cors[name] = values
			p.say(Different, "cors, without origins that have a wildcard; Envoy answers preflight requests of allowed origins alone", "headers."+key)
		}
	}
	if age, ok := number(h["accessControlMaxAge"]); ok && age > 0 {
		cors["maxAge"] = age
	}
	origins, _ := plainOrigins(list(h["accessControlAllowOriginList"]))
	cors["allowOrigins"] = origins
	if yes(h["accessControlAllowCredentials"]) {
		if slices.Contains(origins, any("*")) {
			p.failClosed("credentials for any origin: Envoy would answer with the origin", "name the origins", "headers.accessControlAllowCredentials")
		}
		cors["allowCredentials"] = true
	}
	p.say(Different, "cors", "headers.accessControlMaxAge", "headers.accessControlAllowCredentials", "headers.addVaryHeader")
	if len(origins) > 0 {
		e.policy["cors"] = cors
	}
}
