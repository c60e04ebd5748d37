// Package scope decides what is selected: by a hostname, by a path prefix, or by labels. All packages ask it, so that
// what is served and what is said of it cannot differ.
package scope

import (
	"iter"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// CoversHost reports whether a hostname of a listener or a route (the parameter pattern) covers a host. Before the suffix
// of a wildcard, the host has one label or several (Gateway API, Listener.hostname and HTTPRouteSpec.hostnames). The
// patterns "" and "*" cover every host. The host may itself be a wildcard: then the pattern must cover all of its hosts.
// Both are in lower case. For names in certificates, see CertifiesHost.
func CoversHost(pattern, host string) bool {
	suffix, wild := strings.CutPrefix(pattern, "*")
	return suffix == "" || pattern == host || wild && len(host) > len(suffix) && strings.HasSuffix(host, suffix)
}

// CertifiesHost reports whether a name in a certificate is valid for a host. A wildcard stands for exactly one label,
// the first one (RFC 9525, section 6.3). If the host is itself a wildcard, only the same wildcard is valid. The case of
// letters does not count.
func CertifiesHost(name, host string) bool {
	_, parent, dotted := strings.Cut(host, ".")
	return strings.EqualFold(name, host) || dotted && !strings.HasPrefix(host, "*") && strings.EqualFold(name, "*."+parent)
}

// Intersect returns the hosts that two hostnames have in common: the more specific one of the two. ok is false if they
// have none in common. See CoversHost for how a hostname is written.
func Intersect(a, b string) (hosts string, ok bool) {
	switch {
	case CoversHost(a, b):
		return b, true
	case CoversHost(b, a):
		return a, true
	}
	return "", false
}

// maxHostname is the length of the longest hostname that a listener or a route may have.
const maxHostname = 253

// Wildcards yields the wildcards that cover a host, the most specific first: "*.example.com", "*.com" and "*" for
// "a.example.com". If the host is itself a wildcard, it is left out.
func Wildcards(host string) iter.Seq[string] {
	return func(yield func(wildcard string) bool) {
		for i := max(1, len(host)-maxHostname); i < len(host); i++ {
			if host[i] == '.' && host[:i] != "*" && !yield("*"+host[i:]) {
				return
			}
		}
		if host != "*" {
			yield("*")
		}
	}
}

// Patterns yields the hostnames that cover a host, the most specific first, in the order in which Envoy looks for a
// virtual host: the host itself, and its wildcards.
func Patterns(host string) iter.Seq[string] {
	return func(yield func(pattern string) bool) {
		if yield(host) {
			Wildcards(host)(yield)
		}
	}
}

// CoversPath reports whether a path lies within a path prefix. It compares whole segments: /a covers /a, /a/ and /a/b,
// but not /ab. A slash at the end of the prefix does not count (Gateway API, PathMatchPathPrefix). The prefixes "" and
// "/" cover every path.
func CoversPath(prefix, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(prefix, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// HasLabels reports whether an object with the labels has is selected by matchLabels (the parameter wanted): it has all
// of these labels, with the same values. A label without a value is not the same as no label. Without matchLabels, every
// object is selected (Kubernetes, LabelSelector).
func HasLabels(has, wanted map[string]string) bool {
	for name, value := range wanted {
		if own, ok := has[name]; !ok || own != value {
			return false
		}
	}
	return true
}

// MeetsSelector reports whether labels meet a selector that Kubernetes prints, such as "app=cart,tier in (a,b)". The
// result is true for a selector that cannot be read.
func MeetsSelector(has map[string]string, selector string) bool {
	if selector == "" {
		return true
	}
	parsed, err := labels.Parse(selector)
	return err != nil || parsed.Matches(labels.Set(has))
}

// AllowsNamespace reports whether a listener, a Gateway or a delegating rule allows the routes or listeners of a namespace
// (Gateway API, RouteNamespaces and ListenerNamespaces). The parameters from and by are its settings. The parameter same
// is true if the namespace is its own. The function labelsOf returns the labels of the namespace. A selector that is
// invalid or nil allows no namespace.
func AllowsNamespace(from gwv1.FromNamespaces, by *metav1.LabelSelector, same bool, labelsOf func() map[string]string) bool {
	switch from {
	case gwv1.NamespacesFromAll:
		return true
	case gwv1.NamespacesFromSame:
		return same
	case gwv1.NamespacesFromSelector:
		selector, err := metav1.LabelSelectorAsSelector(by)
		return err == nil && selector.Matches(labels.Set(labelsOf()))
	}
	return false
}
