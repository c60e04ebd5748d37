package ir

import "strings"

// NormalizePath changes the path of a request as the Envoy listener does (normalize_path on, merge_slashes off, escaped slashes
// unchanged; docs/design/gateways.md). It resolves dot segments, also those written as %2e or followed by
// ";parameters". It decodes escaped unreserved characters, and turns a backslash into a slash. It escapes
// characters that a path must not contain. The path has no query. Envoy does not change the paths of matches.
func NormalizePath(path string) string {
	path = StripDotParameters(path)
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); {
		if dot := dotLength(path, i); dot > 0 && len(out) > 0 && out[len(out)-1] == '/' {
			next, up, isDirectory := afterDot(path, i+dot)
			switch {
			case !isDirectory:
				out = append(out, '.')
				next = i + dot
			case up:
				out = parent(out)
			}
			i = next
			continue
		}
		out, i = appendByte(out, path, i)
	}
	return string(out)
}

// StripDotParameters turns the segments ".;x" and "..;x" into "." and "..".
func StripDotParameters(path string) string {
	if !strings.Contains(path, "/.;") && !strings.Contains(path, "/..;") {
		return path
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if dots, _, found := strings.Cut(segment, ";"); found && (dots == "." || dots == "..") {
			segments[i] = dots
		}
	}
	return strings.Join(segments, "/")
}

// dotLength returns the length of a dot at path[i:]: 1 for ".", 3 for "%2e", and 0 if there is no dot.
func dotLength(path string, i int) int {
	switch {
	case i < len(path) && path[i] == '.':
		return 1
	case i+3 <= len(path) && strings.EqualFold(path[i:i+3], "%2e"):
		return 3
	}
	return 0
}

// afterDot reads path from i, the index after the first dot of a segment. isDirectory is true if the segment is
// "." or "..". If isDirectory is true, next is the index of the next segment, and up is true for "..".
func afterDot(path string, i int) (next int, up, isDirectory bool) {
	if next, ok := segmentEnd(path, i); ok {
		return next, false, true
	}
	second := dotLength(path, i)
	if second == 0 {
		return i, false, false
	}
	next, ok := segmentEnd(path, i+second)
	return next, true, ok
}

// segmentEnd reports whether a segment ends at i. If a segment ends at i, next is the index of the next
// segment. Otherwise next is i.
func segmentEnd(path string, i int) (next int, ok bool) {
	switch {
	case i == len(path):
		return i, true
	case path[i] == '/' || path[i] == '\\':
		return i + 1, true
	}
	return i, false
}

// parent removes the last segment from a path that ends in a slash.
func parent(out []byte) []byte {
	for len(out) > 1 {
		out = out[:len(out)-1]
		if out[len(out)-1] == '/' {
			break
		}
	}
	return out
}

// appendByte appends path[i], decoded or escaped as in NormalizePath. It returns the next index.
func appendByte(out []byte, path string, i int) ([]byte, int) {
	const hex = "0123456789ABCDEF"
	switch c := path[i]; {
	case c == '\\':
		return append(out, '/'), i + 1
	case c == '%':
		if decoded, ok := unescape(path, i); ok && isUnreserved(decoded) {
			return append(out, decoded), i + 3
		}
		return append(out, c), i + 1
	case strings.IndexByte("\"<>^`{|}", c) >= 0:
		return append(out, '%', hex[c>>4], hex[c&15]), i + 1
	default:
		return append(out, c), i + 1
	}
}

// unescape returns the byte that a percent-encoding at path[i:] means. It returns false if the encoding is
// invalid.
func unescape(path string, i int) (byte, bool) {
	if i+3 > len(path) {
		return 0, false
	}
	high, ok1 := HexDigit(path[i+1])
	low, ok2 := HexDigit(path[i+2])
	return high<<4 | low, ok1 && ok2
}

// HexDigit returns the value of a hexadecimal digit, and false for other characters.
func HexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// isUnreserved reports whether a URL never needs to escape the character (RFC 3986, section 2.3).
func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
