package ir

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Before a browser sends some requests to another origin, it asks by a CORS preflight request: OPTIONS, with the method
// of the request in Access-Control-Request-Method and the names of its headers in Access-Control-Request-Headers
// (https://fetch.spec.whatwg.org/#cors-preflight-fetch). A match with a method, or with a header that a preflight
// request does not have, never matches it. So a rule with such a match and CORS has a second rule, ir.Rule.Preflight.

// Preflight returns the match for the CORS preflight requests of the requests that m matches. The result place is m
// without the headers about which a preflight request says nothing. Only place decides where the preflight requests are
// in the order of rules (route.Compare). So they go to another rule with the same path, if there is one that they meet.
// needed is false if a rule with the match m gets its preflight requests anyway.
func (m *Match) Preflight() (place, match Match, needed bool) {
	place, match = *m, *m
	var own, asked, kept []ValueMatch
	for _, header := range m.Headers {
		switch {
		case strings.HasPrefix(header.Name, "access-control-request-"): // m is for preflight requests
			return Match{}, Match{}, false
		case inPreflight(header.Name):
			own, kept = append(own, header), append(kept, header)
		case !unannounced(header.Name):
			asked, kept = append(asked, announced(header.Name)), append(kept, header)
		}
	}
	if len(own) == len(m.Headers) && (m.Method == "" || m.Method == http.MethodOptions) {
		return Match{}, Match{}, false
	}
	method := ValueMatch{Name: "access-control-request-method", Value: m.Method}
	if m.Method == "" {
		method.Value, method.Regex = AnyValue, true
	}
	place.Headers, match.Method = kept, http.MethodOptions
	match.Headers = append([]ValueMatch{method, {Name: "origin", Value: AnyValue, Regex: true}}, append(own, asked...)...)
	return place, match, true
}

// AnyValue is a regular expression for every value except "".
const AnyValue = ".+"

// inPreflight reports whether a preflight request has a header with the same value as the request that it is for. The
// parameter name is in lower case.
func inPreflight(name string) bool {
	return slices.Contains([]string{"forwarded", "host", "origin", "referer", "user-agent", "via"}, name) || strings.HasPrefix(name, "x-forwarded-")
}

// unannounced reports whether browsers never list a header in Access-Control-Request-Headers, because pages may always
// set it, or may never set it (https://fetch.spec.whatwg.org/#cors-safelisted-request-header and
// https://fetch.spec.whatwg.org/#forbidden-request-header). The parameter name is in lower case.
func unannounced(name string) bool {
	return slices.Contains([]string{
		"accept", "accept-charset", "accept-encoding", "accept-language", "connection", "content-language", "content-length", "cookie", "cookie2",
		"date", "dnt", "expect", "keep-alive", "range", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade",
	}, name) || strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "sec-")
}

// announced returns the condition that a preflight request lists a header in Access-Control-Request-Headers.
func announced(name string) ValueMatch {
	return ValueMatch{Name: "access-control-request-headers", Value: `(?i)(?:.*[,\s])?` + regexp.QuoteMeta(name) + `(?:[,\s].*)?`, Regex: true}
}
