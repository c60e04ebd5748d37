package route

import (
	"cmp"
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// IsTrafficPolicy reports whether the reference of a filter ExtensionRef names a TrafficPolicy.
func IsTrafficPolicy(ref *gwv1.LocalObjectReference) bool {
	return ref.Group == api.Group && ref.Kind == api.KindTrafficPolicy
}

// extensionRef accepts the filter ExtensionRef if it refers to a TrafficPolicy: it then returns true. Package
// translate adds the policy later, and makes the rule answer an error if the policy is missing. For any other
// reference, extensionRef returns false, and the rule answers an error.
func extensionRef(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) bool {
	if IsTrafficPolicy(f.ExtensionRef) {
		return true
	}
	a.foreignFilter(field+".extensionRef", f.ExtensionRef)
	return false
}

// foreignFilter reports a filter ExtensionRef that does not name a TrafficPolicy. The parameter field is the path of the
// reference, which says whether a rule or a backendRef has the filter.
func (a *actionBuilder) foreignFilter(field string, ref *gwv1.LocalObjectReference) {
	meets, where := "the rule answers 500", ""
	if rule, _, ofBackend := strings.Cut(field, ".backendRefs["); ofBackend {
		meets, where = "requests to this backend answer 500", "for all backends of the rule, in "+rule+".filters: "
	}
	of, hint := "group "+string(ref.Group), "write a filter of the Gateway API, or a TrafficPolicy, that does the same"
	if ref.Group == "" {
		of = "the core group"
	}
	if known := knownFilter(ref); known.of != "" {
		of, hint = known.of, known.instead
	} else if manifest.Distance(strings.ToLower(string(ref.Kind)), strings.ToLower(api.KindTrafficPolicy)) <= 2 {
		hint = "write the group and kind of a TrafficPolicy"
	}
	if strings.Contains(hint, api.KindTrafficPolicy) {
		hint += fmt.Sprintf("; name it in extensionRef: {group: %s, kind: %s, name: NAME}", api.Group, api.KindTrafficPolicy)
	}
	message := fmt.Sprintf("the filter names %s %s/%s of %s, which gatefold does not serve: %s", ref.Kind, a.origin.Key.Namespace, ref.Name, of, meets)
	a.problem(manifest.Error, codeUnsupported, field, message, where+hint)
	a.flat.Unserved(field + ": " + message)
}

// foreignKind is a kind of objects that other programs take in the filter ExtensionRef.
type foreignKind struct {
	group   string
	kind    string // "" for all kinds of the group
	of      string // the program
	instead string // what to write for gatefold
}

// knownFilter returns the entry of foreignKinds for a reference, a zero foreignKind if there is none.
func knownFilter(ref *gwv1.LocalObjectReference) foreignKind {
	for _, known := range foreignKinds() {
		if known.group == string(ref.Group) && cmp.Or(known.kind, string(ref.Kind)) == string(ref.Kind) {
			return known
		}
	}
	return foreignKind{}
}

// foreignKinds returns the kinds that people write for other programs in the filter ExtensionRef.
func foreignKinds() []foreignKind {
	const (
		plugins     = "write what the plugin does as a TrafficPolicy with apiKeyAuth, basicAuth, jwtAuth, extAuth, acl, rateLimit or cors"
		middlewares = "write the filter URLRewrite (stripPrefix, replacePath) or RequestRedirect (redirectScheme, redirectRegex), or a TrafficPolicy with " +
			"extAuth (forwardAuth), acl (ipAllowList), basicAuth, rateLimit or headerModifiers (headers)"
	)
	return []foreignKind{
		{"traefik.io", "", "Traefik", middlewares},
		{"traefik.containo.us", "", "Traefik", middlewares},
		{"gateway.nginx.org", "AuthenticationFilter", "NGINX Gateway Fabric", "write a TrafficPolicy with basicAuth or jwtAuth"},
		{"gateway.nginx.org", "SnippetsFilter", "NGINX Gateway Fabric", "gatefold reads no nginx.conf: write what the snippets do as a filter of the Gateway API, or as a TrafficPolicy"},
		{"gateway.envoyproxy.io", "HTTPRouteFilter", "Envoy Gateway", "write the filter URLRewrite, which has no regular expressions; for a direct response, write backendRefs to a server that answers so"},
		{"configuration.konghq.com", "", "Kong", plugins},
		{"apisix.apache.org", "", "APISIX", plugins},
		{api.Group, "DirectResponse", "kgateway", "write backendRefs to a server that answers so"},
		{"gateway.solo.io", "RouteOption", "Gloo Gateway", "write what it does as a TrafficPolicy"},
	}
}
