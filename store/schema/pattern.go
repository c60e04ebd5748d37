package schema

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	label    = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	dnsName  = label + `(\.` + label + `)*`
	hostname = "a host name: lower-case letters, digits and '-' in labels joined by '.'"
)

// patternWords returns the meaning of a pattern of the Gateway API's CRDs in words. It returns "" for an
// unknown pattern.
func patternWords(pattern string) string {
	switch pattern {
	case `^` + dnsName + `$`:
		return hostname
	case `^(\*\.)?` + dnsName + `$`:
		return hostname + ", perhaps after \"*.\""
	case `^$|^` + dnsName + `$`:
		return "an API group: a host name such as gateway.networking.k8s.io, or \"\" for the core"
	case `^` + label + `$`:
		return "a label: lower-case letters, digits and '-', neither first nor last '-'"
	case `^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`:
		return "a kind: letters, digits and '-', first a letter"
	case "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$":
		return "a header or parameter name: letters, digits and !#$%&'*+-.^_`|~"
	case "^[!-~]+([\\t ]?[!-~]+)*$":
		return "a header value: printable ASCII, single blanks only between words"
	case `^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$`:
		return "a path: letters, digits, -/._~!$&'()*+,;=:@ and %XX for anything else"
	case `^([0-9]{1,5}(h|m|s|ms)){1,4}$`:
		return "a duration such as 500ms, 10s or 1m30s"
	case `^` + dnsName + `\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$`:
		return "a domain and a path, such as example.com/name"
	}
	return ""
}

// patternHint returns what the user should change in the text s, which does not match the pattern of n. The parameter
// words describes the pattern (see patternWords). patternHint knows a few common mistakes, such as a port after
// a hostname. A text that it tells the user to write matches the pattern, and is shown as a whole. The parameter kind is
// the kind of the object. patternHint returns "" for all other texts.
func (n *node) patternHint(kind, s, words string) string {
	isHost := strings.HasPrefix(words, hostname)
	near, reason := strings.TrimSpace(s), ""
	if isHost {
		near, reason = hostOf(near)
	}
	for _, text := range []string{near, strings.ToLower(near)} {
		if n.regexp.MatchString(text) && utf8.RuneCountInString(text) <= shownLength {
			return reason + "write " + shown(text)
		}
	}
	wildcards := words != hostname
	switch {
	case isHost && s == "*" && wildcards && mayHaveEveryHost(kind):
		return "leave it out: every host matches then"
	case isHost && strings.HasPrefix(s, "*") && wildcards:
		return "'*' stands for the first label as a whole: *.example.com"
	case isHost && strings.HasPrefix(s, "*"):
		return "write one name; no wildcard is possible here"
	}
	return ""
}

// mayHaveEveryHost reports whether a field with wildcards may be left out in a kind, and stands for every host then. A
// TLSRoute needs hostnames, and a name in a BackendTLSPolicy is one that a certificate must have.
func mayHaveEveryHost(kind string) bool {
	return slices.Contains([]string{"Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute"}, kind)
}

// hostOf returns a text that is meant as a hostname without a scheme, port and path, and without a dot at its end. The
// reason says what was left out, such as "leave out the port: ". It is "" if that is none of these.
func hostOf(text string) (host, reason string) {
	_, host, hasScheme := strings.Cut(text, "://")
	if !hasScheme {
		host = text
	}
	host, _, hasPath := strings.Cut(host, "/")
	host, _, hasPort := strings.Cut(host, ":")
	switch {
	case hasScheme || hasPath:
		reason = "leave out the scheme and the path: "
	case hasPort:
		reason = "leave out the port: "
	}
	return strings.TrimSuffix(host, "."), reason
}
