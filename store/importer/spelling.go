package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Envoy matches a path as it is written, but for dot segments and letters that need no %.
// ingress-nginx and Traefik read // as /, and nginx decodes %2F before it looks for a location: a
// request could leave a path that protects for one that does not. Where the paths of a host are
// protected differently, a rule before all others closes what may be read in two ways.

var plainPathText = regexp.MustCompile(`^[A-Za-z0-9._~/-]*$`)

// spellings returns an expression for the paths that may be read in two ways where these are the
// paths of a host. With expressions, the paths are regular expressions, and every escaped mark counts.
// ok is false if a path has letters that cannot be spelled out.
func spellings(paths []string, expressions bool) (expression string, ok bool) {
	if expressions {
		return `(?i).*(?://|%(?:2[1-9a-f]|3[a-f]|40|5[b-e]|60|7[b-d])).*`, true
	}
	escaped := []string{"2f"}
	for _, path := range paths {
		for _, c := range []byte(path) {
			mark := fmt.Sprintf("%02x", c)
			switch {
			case c <= ' ' || c == '%' || c >= 0x7f:
				return "", false
			case !plainPathText.Match([]byte{c}) && !strings.Contains(strings.Join(escaped, " "), mark):
				escaped = append(escaped, mark)
			}
		}
	}
	return `(?i).*(?://|%(?:` + strings.Join(escaped, "|") + `)).*`, true
}

const spellingsTold = "answers 500 where a path has // or an escaped /, as the paths of the host are protected differently and Envoy does not read those as /"

// spelled returns the rule's match for a host whose paths are protected differently; nil for others.
func (n *nginx) spelled(host *ingressHost, all []*location) *location {
	var first *location
	var paths []string
	for _, l := range all {
		if !slices.Contains(host.paths, l.ingressPath) {
			continue // the redirect of an app-root
		}
		paths = append(paths, l.path)
		if first == nil && guard(l) != guard(&location{ingressPath: host.paths[0]}) {
			first = l
		}
	}
	if first == nil || host.closed != "" {
		return nil
	}
	expression, ok := spellings(paths, first.ordered)
	if !ok {
		host.closed = "its paths are protected differently, and have letters that a request may write in several ways"
		return nil
	}
	n.add(Different, first.ingress.place, first.ingress.name(), spellingsTold, first.field)
	return &location{ingressPath: &ingressPath{host: host.name, closed: spellingsTold, settings: &settings{}}, matches: []any{pathMatch("RegularExpression", expression)}}
}
