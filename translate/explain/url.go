package explain

import (
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// address is an absolute URL as Envoy's own parser reads it. userinfo and fragment are true if the URL has a
// user name or a fragment. Envoy's parser is http_parser_parse_url of http_parser. It differs from RFC 3986 and
// from net/url.
type address struct {
	host     string // with the port, as written
	userinfo bool
	fragment bool
}

// parseAddress parses an absolute URL. It returns false for every other text.
func parseAddress(text string) (a address, ok bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || !isScheme(scheme) {
		return a, false
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	user, host, hasUser := strings.Cut(authority, "@")
	if !hasUser {
		user, host = "", authority
	}
	a = address{host: host, userinfo: user != "", fragment: strings.Contains(tail, "#")}
	return a, all(user, isUserinfo) && isHostPort(host) && all(strings.ReplaceAll(tail, "#", ""), isURLChar)
}

// isScheme reports whether a text may be the scheme of a URL.
func isScheme(text string) bool {
	return text != "" && isLetter(text[0]) && all(text, func(c byte) bool {
		return isLetter(c) || isDigit(c) || strings.IndexByte("+-.", c) >= 0
	})
}

// isHostPort reports whether a text is a name or an address in brackets, with or without a port.
func isHostPort(text string) bool {
	host, port := text, "80"
	if i := portStart(text); i >= 0 {
		host, port = text[:i], text[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 64); err != nil || n > 65535 || !all(port, isDigit) {
		return false
	}
	if inside, bracket := strings.CutPrefix(host, "["); bracket {
		inside, closed := strings.CutSuffix(inside, "]")
		return closed && inside != "" && all(inside, func(c byte) bool {
			_, hex := ir.HexDigit(c)
			return hex || c == ':' || c == '.'
		})
	}
	return host != "" && all(host, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '.' || c == '-' })
}

// all reports whether every byte of a text has a property: whether the given function returns true for every
// byte.
func all(text string, is func(byte) bool) bool {
	for i := range len(text) {
		if !is(text[i]) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isUserinfo reports whether Envoy's parser accepts a character before the "@" of a URL.
func isUserinfo(c byte) bool {
	return isLetter(c) || isDigit(c) || strings.IndexByte("-_.!~*'()%;:&=+$,", c) >= 0
}

// isURLChar reports whether a character is printable ASCII and not a space.
func isURLChar(c byte) bool { return c > ' ' && c < 0x7f }

// isQueryChar reports whether the query of a URL may contain a character.
func isQueryChar(c byte) bool {
	return isLetter(c) || isDigit(c) || strings.IndexByte("/?:@-._~%!$&'()*+,;=", c) >= 0
}

// isReferer reports whether Envoy keeps a Referer header with this value. Envoy removes the header if the value
// is an absolute URL with a user name or a fragment. Envoy also removes the header if the value is a relative
// URL with a colon before its first slash, or with a character that a query must not contain (RFC 3986, section
// 3.4).
func isReferer(text string) bool {
	if a, ok := parseAddress(text); ok {
		return !a.userinfo && !a.fragment
	}
	first, _, _ := strings.Cut(text, "/")
	return !strings.Contains(first, ":") && all(text, isQueryChar)
}
