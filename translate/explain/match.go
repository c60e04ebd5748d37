package explain

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// pathDiffers is the reason of most misses, which are not worth telling.
const pathDiffers = "path differs"

// joined are the request headers that Envoy 1.40 keeps in one line: repeated ones
// are joined with commas. Of all others each line is compared by itself.
// Found by sending each twice to a real one.
var joined = map[string]bool{
	"accept": true, "accept-encoding": true, "access-control-request-headers": true,
	"access-control-request-method": true, "authorization": true, "cache-control": true,
	"content-encoding": true, "content-type": true, "expect": true, "grpc-accept-encoding": true,
	"grpc-timeout": true, "if-match": true, "if-modified-since": true, "if-none-match": true,
	"if-range": true, "if-unmodified-since": true, "origin": true, "pragma": true,
	"proxy-status": true, "referer": true, "user-agent": true, "via": true,
	"x-client-trace-id": true, "x-forwarded-host": true, "x-forwarded-port": true,
}

// request is a query as Envoy's router sees it.
type request struct {
	query   Query
	path    string // normalized, without the query
	search  string // "?a=b" or ""
	headers map[string][]string
}

func newRequest(query Query) *request {
	path, search, found := strings.Cut(query.Path, "?")
	if found {
		search = "?" + search
	}
	return &request{query: query, path: normalize(path), search: search, headers: received(query)}
}

// received are the headers by lower-case name. Those with underscores are
// dropped, as the listener does.
func received(query Query) map[string][]string {
	headers := make(map[string][]string, len(query.Headers)+1)
	for name, values := range query.Headers {
		name = strings.ToLower(name)
		switch {
		case strings.Contains(name, "_") || len(values) == 0:
		case joined[name]:
			headers[name] = []string{strings.Join(values, ",")}
		default:
			headers[name] = append(headers[name], values...)
		}
	}
	headers["host"] = []string{query.Host}
	return headers
}

// mismatch says why a match does not hold, "" when it does.
func (r *request) mismatch(match *ir.Match) string {
	if !r.matchesPath(match.Path) || !within(r.path, match.Within) {
		return pathDiffers
	}
	if host := hostname(r.query.Host); len(match.Hosts) > 0 &&
		!slices.ContainsFunc(match.Hosts, func(pattern string) bool { return covers(pattern, host) }) {
		return "host is not " + strings.Join(match.Hosts, " or ")
	}
	if match.Method != "" && match.Method != r.query.Method {
		return fmt.Sprintf("method is %s, not %s", r.query.Method, match.Method)
	}
	for _, want := range match.Headers {
		if reason := compareAny(want, r.headers[want.Name]); reason != "" {
			return "header " + reason
		}
	}
	for _, want := range match.Query {
		if reason := compareAny(want, firstParameter(r.search, want.Name)); reason != "" {
			return "query parameter " + reason
		}
	}
	return ""
}

func (r *request) matchesPath(path ir.Path) bool {
	switch path.Kind {
	case ir.PathExact:
		return r.path == path.Value
	case ir.PathRegex:
		return matchesWhole(path.Value, r.path)
	}
	return within(r.path, path.Value)
}

// within compares a prefix by whole segments; "" and "/" hold every path.
func within(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(prefix, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// compareAny holds when one of the values does.
func compareAny(want ir.ValueMatch, values []string) string {
	for _, value := range values {
		if want.Regex && matchesWhole(want.Value, value) || !want.Regex && value == want.Value {
			return ""
		}
	}
	switch {
	case len(values) == 0:
		return want.Name + " is missing"
	case want.Regex:
		return fmt.Sprintf("%s is %q and does not match %q", want.Name, values, want.Value)
	}
	return fmt.Sprintf("%s is %q, not %q", want.Name, values, want.Value)
}

// matchesWhole compares the whole value. A pattern that does not compile is in
// no table (xds.Route refuses it) and matches nothing.
func matchesWhole(pattern, value string) bool {
	expression, err := regexp.Compile(`^(?:` + pattern + `)$`)
	return err == nil && expression.MatchString(value)
}

// firstParameter is the first value of a query parameter, nothing without one.
// Envoy compares names and values as they were sent, undecoded.
func firstParameter(search, name string) []string {
	for pair := range strings.SplitSeq(strings.TrimPrefix(search, "?"), "&") {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return []string{value}
		}
	}
	return nil
}

// clone copies the request's headers by canonical name.
func (r *request) clone() http.Header {
	headers := make(http.Header, len(r.headers))
	for name, values := range r.headers {
		if name != "host" {
			headers[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	return headers
}
