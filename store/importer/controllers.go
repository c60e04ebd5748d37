package importer

import (
	"slices"
	"strconv"
	"strings"
)

// boolean parses a value as ingress-nginx does. ok is false for a value that strconv.ParseBool does not accept.
func boolean(value string) (on, ok bool) {
	on, err := strconv.ParseBool(value)
	return on, err == nil
}

// ofController reports whether a controller of Ingresses, Gateways or Services may read an annotation. Such an
// annotation may protect its object.
func ofController(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	harmless := []string{"cert-manager.io", "external-dns.alpha.kubernetes.io", "argoproj.io", "helm.sh", "cattle.io", "gethomepage.dev", "stakater.com"}
	if slices.ContainsFunc(harmless, func(end string) bool { return domain == end || strings.HasSuffix(domain, "."+end) }) ||
		name == "cloud.google.com/neg" || name == "cloud.google.com/neg-status" {
		return false
	}
	return slices.ContainsFunc([]string{
		"ingress", "nginx", "traefik", "haproxy", "konghq.com", "projectcontour.io", "getambassador.io", "apisix.apache.org", "cloud.google.com",
		"networking.gke.io", "istio.io", "envoyproxy.io", "solo.io", "zalando.org", "cilium.io", "linkerd.io", "contour.heptio.com", "higress.io", "azure.io", "k8s.aws", "tailscale.com",
	}, func(word string) bool { return strings.Contains(name, word) })
}

// ofOtherPrefix reports whether an annotation has another prefix, but the name of an ingress-nginx annotation
// that protects or routes. With --annotations-prefix, ingress-nginx reads annotations with another prefix.
func ofOtherPrefix(name string) bool {
	_, key, _ := strings.Cut(name, "/")
	return slices.ContainsFunc([]string{"auth-tls-", "limit-", "modsecurity-", "proxy-ssl-", "canary-by-"}, func(begin string) bool { return strings.HasPrefix(key, begin) }) ||
		slices.Contains([]string{
			"auth-type", "auth-secret", "auth-url", "auth-signin", "whitelist-source-range", "allowlist-source-range", "denylist-source-range", "satisfy",
			"configuration-snippet", "server-snippet", "auth-snippet", "enable-modsecurity", "enable-global-auth", "force-ssl-redirect", "ssl-redirect",
			"ssl-passthrough", "backend-protocol", "permanent-redirect", "temporal-redirect", "server-alias", "use-regex", "rewrite-target", "canary",
		}, key)
}
