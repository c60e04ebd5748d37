package importer

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// forwardAuth converts the middleware forwardAuth (the parameter p) into the field extAuth of e.policy. The address
// in p must be an endpoint of Authelia or Authentik, because these also have an endpoint for Envoy. Traefik calls
// one path with GET, but Envoy calls a prefix followed by the request's path, with the request's method
// (docs/guides/sign-in.md). For any other service, or an address that does not begin with http://, routers with
// this middleware answer 500.
func (m *middlewareReader) forwardAuth(p *part, e *effect) {
	target, err := url.Parse(text(p.get("forwardAuth.address")))
	if err != nil || target.Host == "" {
		p.failClosed("it has no address", "", "forwardAuth")
		return
	}
	prefix := map[string]string{"/api/authz/forward-auth": "/api/authz/ext-authz/", "/outpost.goauthentik.io/auth/traefik": "/outpost.goauthentik.io/auth/envoy"}[target.Path]
	port, ok := number(target.Port())
	if target.Port() == "" {
		port, ok = 80, true
	}
	host := strings.ToLower(target.Hostname())
	_, wrong := netip.ParseAddr(host)
	switch {
	case prefix == "" || target.RawQuery != "":
		p.failClosed("Traefik asks one path with GET, Envoy asks with the method and path of the request behind a prefix; import knows the endpoints of Authelia and Authentik alone",
			"docs/guides/sign-in.md says how to write it as extAuth; or leave it out with --accept "+p.id(), "forwardAuth")
		return
	case target.Scheme != "http" || target.User != nil || !ok || port < 1 || port > 65535 || wrong != nil && !manifest.IsEndpointName(host):
		p.failClosed("the address is no server with http and a port", "docs/guides/sign-in.md says how to write it as extAuth; or leave it out with --accept "+p.id(), "forwardAuth")
		return
	}
	forward, read := []any{"accept", "cookie", "proxy-authorization", "x-forwarded-for"}, []any{}
	if p.get("forwardAuth.authRequestHeaders") != nil {
		forward = headerNames(p, "forwardAuth.authRequestHeaders")
	}
	if p.get("forwardAuth.authResponseHeaders") != nil {
		read = headerNames(p, "forwardAuth.authResponseHeaders")
	}
	p.say(Different, "extAuth, by the service's endpoint for Envoy, "+prefix+": it must be enabled there", "forwardAuth.address")
	p.say(Different, "the service sees X-Forwarded-For and X-Forwarded-Proto as gatefold has them: look at --trusted-hops", "forwardAuth.trustForwardHeader")
	if p.closed != "" {
		return
	}
	backend, extension := m.objects.name("Backend", p.name), m.objects.name("GatewayExtension", p.name)
	m.objects.put(api.Group+"/"+api.Version, api.KindBackend, backend,
		map[string]any{"type": "Static", "static": map[string]any{"hosts": []any{map[string]any{"host": host, "port": port}}}})
	service := map[string]any{
		"backendRef": map[string]any{"group": api.Group, "kind": api.KindBackend, "name": backend}, "pathPrefix": prefix,
		"authorizationRequest": map[string]any{"headersToAdd": map[string]any{"X-Forwarded-Proto": "%REQ(x-forwarded-proto)%"}},
	}
	if len(read) > 0 {
		service["authorizationResponse"] = map[string]any{"headersToBackend": read}
	}
	m.objects.put(api.Group+"/"+api.Version, api.KindGatewayExtension, extension,
		map[string]any{"extAuth": map[string]any{"httpService": service, "headersToForward": forward}})
	e.policy["extAuth"] = map[string]any{"extensionRef": map[string]any{"name": extension}}
	e.asks = true
}

// headerNames reads a field of p that lists header names, and returns the names in lower case. If one of the
// values is not a valid header name, the result is nil, and every router that uses p answers 500.
func headerNames(p *part, field string) []any {
	var all []any
	for _, name := range list(p.get(field)) {
		if !headerName.MatchString(text(name)) {
			p.failClosed("it is no name of a header", "", field)
			return nil
		}
		all = append(all, strings.ToLower(text(name)))
	}
	p.say(Same, "headers of extAuth", field)
	return all
}
