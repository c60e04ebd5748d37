package schema

import "strings"

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

// patternHint returns what the user should change in the text s, which does not match a pattern. The parameter
// words describes the pattern (see patternWords). patternHint knows a few common mistakes, such as a port after
// a hostname. It returns "" for all other texts.
func patternHint(s, words string) string {
	isHost := strings.HasPrefix(words, hostname)
	switch {
	case isHost && strings.Contains(s, "://"):
		return "leave out the scheme and the path"
	case isHost && strings.Contains(s, ":"):
		return "leave out the port"
	case isHost && strings.HasPrefix(s, "*") && words != hostname:
		return "'*' stands for the first label as a whole: *.example.com"
	case s != strings.ToLower(s) && strings.Contains(words, "lower-case"):
		return "write " + shown(strings.ToLower(s))
	case s != strings.TrimSpace(s):
		return "remove the blanks around it"
	}
	return ""
}
