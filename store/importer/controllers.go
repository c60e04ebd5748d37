package importer

import (
	"slices"
	"strconv"
	"strings"
)

// boolean reads a value as ingress-nginx does, which takes the spellings of strconv.ParseBool alone.
func boolean(value string) (on, ok bool) {
	on, err := strconv.ParseBool(value)
	return on, err == nil
}

// ofController reports whether an annotation is one that a controller of Ingresses, Gateways or
// Services reads: it may protect what it is on.
func ofController(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	harmless := []string{"cert-manager.io", "external-dns.alpha.kubernetes.io", "argoproj.io", "helm.sh", "cattle.io", "gethomepage.dev", "stakater.com"}
	if slices.ContainsFunc(harmless, func(end string) bool { return domain == end || strings.HasSuffix(domain, "."+end) }) ||
		name == "cloud.google.com/neg" || name == "cloud.google.com/neg-status" {
		return false
	}
	return slices.ContainsFunc([]string{
		"ingress", "nginx", "traefik", "haproxy", "konghq.com", "projectcontour.io", "getambassador.io", "apisix.apache.org", "cloud.google.com",
		"networking.gke.io", "istio.io", "envoyproxy.io", "solo.io", "zalando.org", "cilium.io", "linkerd.io",
	}, func(word string) bool { return strings.Contains(name, word) })
}
