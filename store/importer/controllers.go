package importer

import (
	"slices"
	"strconv"
	"strings"
)

// boolean reads a value as ingress-nginx does, which accepts only the spellings of
// strconv.ParseBool.
func boolean(value string) (on, ok bool) {
	on, err := strconv.ParseBool(value)
	return on, err == nil
}

// ofController reports whether an annotation is one that a controller of Ingresses, Gateways or
// Services reads. Such an annotation may protect its object.
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

// ofOtherPrefix reports whether an annotation is named as one of ingress-nginx that protects or routes, with
// another prefix: ingress-nginx reads that one if it is started with --annotations-prefix.
func ofOtherPrefix(name string) bool {
	_, key, _ := strings.Cut(name, "/")
	return slices.ContainsFunc([]string{"auth-tls-", "limit-", "modsecurity-", "proxy-ssl-", "canary-by-"}, func(begin string) bool { return strings.HasPrefix(key, begin) }) ||
		slices.Contains([]string{
			"auth-type", "auth-secret", "auth-url", "auth-signin", "whitelist-source-range", "allowlist-source-range", "denylist-source-range", "satisfy",
			"configuration-snippet", "server-snippet", "auth-snippet", "enable-modsecurity", "enable-global-auth", "force-ssl-redirect", "ssl-redirect",
			"ssl-passthrough", "backend-protocol", "permanent-redirect", "temporal-redirect", "server-alias", "use-regex", "rewrite-target", "canary",
		}, key)
}
