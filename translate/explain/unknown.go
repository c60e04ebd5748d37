package explain

import (
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/counted"
)

// These placeholders stand for header values that Envoy, or a service that Envoy calls, determines at run time.
// explain knows only the query, so it does not know them. A real header cannot contain a placeholder, because each
// has a NUL.
const (
	unknownClient = "\x00\x01\x00" // the address of the client
	unknownID     = "\x00\x02\x00" // a new request ID
	unknownToken  = "\x00\x04\x00" // the access token of a user
	unknownAnswer = "\x00\x03\x00" // a header of a service's answer; the answer may lack it

	unknownParameters = "\x00\x05\x00" // the query of a redirect to an identity provider
)

// These placeholders replace, in a Report, values that are not known.
const (
	ClientAddress = "<address of the client>"
	NewRequestID  = "<new request ID>"
	AccessToken   = "<access token of the user>"
	ServiceAnswer = "<what the service of extAuth answers, if it does>"

	LoginParameters = "<parameters that Envoy adds>" // to the URL of an identity provider
)

// shown returns a value with a readable placeholder for each unknown part.
func shown(value string) string {
	if isKnown(value) {
		return value
	}
	return strings.NewReplacer(unknownClient, ClientAddress, unknownID, NewRequestID, unknownAnswer, ServiceAnswer, unknownToken, AccessToken, unknownParameters, LoginParameters).Replace(value)
}

// isKnown reports whether a value has no unknown part.
func isKnown(value string) bool { return !strings.Contains(value, "\x00") }

// mayEqual reports whether a value is equal to text for some content of its unknown parts.
func mayEqual(value, text string) bool {
	before, rest, unknown := strings.Cut(value, "\x00")
	if !unknown {
		return value == text
	}
	after := rest[strings.LastIndexByte(rest, 0)+1:]
	return len(text) > len(before)+len(after) && strings.HasPrefix(text, before) && strings.HasSuffix(text, after)
}

// takesAll reports whether a regular expression is ".*" or ".+", or another spelling that parses to the same, such
// as ".{0,}" or "(?s).*". Such an expression matches every header value that is not empty. takesAll returns false
// for all other expressions, even if they match the same values, such as "(.*)" or ".*.*".
func takesAll(pattern string) bool {
	parsed, err := counted.ParseRegex(pattern)
	if err != nil {
		return false
	}
	parsed = parsed.Simplify()
	repeated := parsed.Op == syntax.OpStar || parsed.Op == syntax.OpPlus
	return repeated && (parsed.Sub[0].Op == syntax.OpAnyCharNotNL || parsed.Sub[0].Op == syntax.OpAnyChar)
}

// placeholders returns the texts that replace unknown parts of a value.
func placeholders() []string {
	return []string{ClientAddress, NewRequestID, AccessToken, ServiceAnswer, LoginParameters}
}

// HasPlaceholder reports whether a header's value in a Report has a placeholder for an unknown part.
func HasPlaceholder(value string) bool {
	return slices.ContainsFunc(placeholders(), func(placeholder string) bool {
		return strings.Contains(value, placeholder)
	})
}
