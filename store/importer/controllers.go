package importer

import (
	"slices"
	"strconv"
	"strings"
)

// boolean parses the value of an annotation as ingress-nginx does. ok is false if strconv.ParseBool does not accept
// the value.
func boolean(value string) (parsed, ok bool) {
	parsed, err := strconv.ParseBool(value)
	return parsed, err == nil
}

// ofController reports whether the annotation name may be for another controller of Ingresses, Gateways or
// Services, such as Traefik or a cloud provider. Such an annotation may protect the object that has it.
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

// ofOtherPrefix reports whether an annotation has the name of an ingress-nginx annotation for access control or
// routing, no matter which prefix stands before the name. The prefix can differ, because the flag
// --annotations-prefix of ingress-nginx sets it.
func ofOtherPrefix(name string) bool {
	_, key, _ := strings.Cut(name, "/")
	return slices.ContainsFunc([]string{"auth-tls-", "limit-", "modsecurity-", "proxy-ssl-", "canary-by-"}, func(begin string) bool { return strings.HasPrefix(key, begin) }) ||
		slices.Contains([]string{
			"auth-type", "auth-secret", "auth-url", "auth-signin", "whitelist-source-range", "allowlist-source-range", "denylist-source-range", "satisfy",
			"configuration-snippet", "server-snippet", "auth-snippet", "enable-modsecurity", "enable-global-auth", "force-ssl-redirect", "ssl-redirect",
			"ssl-passthrough", "backend-protocol", "permanent-redirect", "temporal-redirect", "server-alias", "use-regex", "rewrite-target", "canary",
		}, key)
}
