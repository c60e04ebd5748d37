package explain

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
)

// request is a query as Envoy's filters and router see it: after Envoy's connection manager has changed it. The
// function receive makes these changes.
type request struct {
	query    Query
	clusters map[string]*ir.Cluster
	// scheme is the scheme of the URL that the client used. A trusted proxy may report another scheme than that of
	// the listener.
	scheme     string
	path       string            // normalized, without the query
	search     string            // "?a=b" or ""
	client     netip.Addr        // the client's address as Envoy determines it; not valid if it is not known
	headers    headerFields      // without Host
	parameters map[string]string // the first value of each query parameter, by name
	comparer   *comparer
	keyClient  string // the client of apiKeyAuth, "" until the request has passed apiKeyAuth
	// answered has the headers, in lower case, that an HTTP authorization service (extAuth) sets in the request to
	// the backend. It is nil until the request has passed extAuth.
	answered []string
	now      time.Time
	claims   []string // PortView.Claims
	chunked  bool     // whether the body is sent in chunks
}

// newRequest returns the request of a query, with the headers that the client sent.
func newRequest(query Query) *request {
	path, search, found := strings.Cut(query.Path, "?")
	if found {
		search = "?" + search
	}
	return &request{
		query: query, scheme: query.Scheme, path: ir.NormalizePath(path), search: search, headers: headerFieldsOf(query.Headers),
		parameters: firstParameters(search), comparer: newComparer(), now: time.Now(),
	}
}

// firstParameters returns the first value of each query parameter, by name. Envoy compares names and values
// undecoded. search is "?a=b" or "".
func firstParameters(search string) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimPrefix(search, "?"), "&") {
		name, value, _ := strings.Cut(pair, "=")
		if _, known := out[name]; !known && search != "" {
			out[name] = value
		}
	}
	return out
}

// forges returns which of the given headers the request has. The parameter names has the names of headers that
// only filters of Envoy may set. The client may have forged them.
func (r *request) forges(names []string) (out []string) {
	for _, name := range names {
		if r.headers.has(name) {
			out = append(out, name)
		}
	}
	return out
}

// without returns the request without the headers with the given names. It does not change r.
func (r *request) without(names []string) *request {
	if len(r.forges(names)) == 0 {
		return r
	}
	out := *r
	out.headers = r.headers.clone()
	for _, name := range names {
		out.headers.remove(name)
	}
	return &out
}

// upgrades reports whether a request wants to change the protocol of its connection.
func (r *request) upgrades() bool {
	return r.headers.has("upgrade") && slices.ContainsFunc(tokens(r.headers.first("connection")), func(token string) bool {
		return strings.EqualFold(token, "upgrade")
	})
}

// upgradeRejected is the reason if Envoy rejects an upgrade to a protocol other than websocket.
const upgradeRejected = "Envoy rejects the upgrade: only the protocol websocket is open"

// upgradesToUnknown reports whether a request wants to change to a protocol other than websocket. Envoy does
// not support other protocols.
func (r *request) upgradesToUnknown() bool {
	return r.upgrades() && !strings.EqualFold(r.headers.first("upgrade"), "websocket")
}

// tokens splits a list at its commas. It leaves out empty elements.
func tokens(list string) []string {
	var out []string
	for token := range strings.SplitSeq(list, ",") {
		if token = strings.Trim(token, " \t"); token != "" {
			out = append(out, token)
		}
	}
	return out
}

// bodyBytes returns the Content-Length of the request. It is 0 if there is none, or if it is not a number.
func (r *request) bodyBytes() int64 {
	n, err := strconv.ParseInt(r.headers.first("content-length"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// asksByGRPC reports whether Envoy treats a request as a gRPC call, because of its Content-Type. The answers of Envoy
// itself then have a gRPC status.
func (r *request) asksByGRPC() bool {
	rest, ok := strings.CutPrefix(r.headers.first("content-type"), "application/grpc")
	return ok && (rest == "" || rest[0] == '+')
}
