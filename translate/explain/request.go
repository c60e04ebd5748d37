package explain

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
)

// request is a query as Envoy's router sees it.
type request struct {
	query    Query
	clusters map[string]*ir.Cluster
	// scheme is that of the URL which the client used: a trusted proxy may report another one
	// than the listener has.
	scheme     string
	path       string            // normalized, without the query
	search     string            // "?a=b" or ""
	client     netip.Addr        // the client's, as Envoy sees it; not valid where it is not known
	headers    headerFields      // without Host
	parameters map[string]string // the first value of each query parameter, by name
	effort     *effort
	keyClient  string // that of apiKeyAuth, once the request has passed it
	// answered are the headers that a service's answer has in place of the client's, once the
	// request has passed the service: in lower case.
	answered []string
	now      time.Time
	claims   []string // PortView.Claims
	// chunked is true if a body comes in chunks, and hostless if Host was removed.
	chunked, hostless bool
}

func newRequest(query Query) *request {
	path, search, found := strings.Cut(query.Path, "?")
	if found {
		search = "?" + search
	}
	return &request{
		query: query, scheme: query.Scheme, path: normalize(path), search: search, headers: headerFieldsOf(query.Headers),
		parameters: firstParameters(search), effort: newEffort(), now: time.Now(),
	}
}

// firstParameters returns the query parameters by name, each with its first value. Envoy compares
// names and values as they were sent, undecoded.
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

// forges returns the headers of a request that only filters may set. names lists these headers.
func (r *request) forges(names []string) (out []string) {
	for _, name := range names {
		if r.headers.has(name) {
			out = append(out, name)
		}
	}
	return out
}

// without returns the request without the headers of the given names.
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

// upgrades reports whether a request asks for another protocol on its connection.
func (r *request) upgrades() bool {
	return r.headers.has("upgrade") && slices.ContainsFunc(tokens(r.headers.first("connection")), func(token string) bool {
		return strings.EqualFold(token, "upgrade")
	})
}

const upgradeRejected = "Envoy rejects the upgrade: only the protocol websocket is open"

// upgradesToUnknown reports whether a request asks for a protocol that Envoy does not support.
func (r *request) upgradesToUnknown() bool {
	return r.upgrades() && !strings.EqualFold(r.headers.first("upgrade"), "websocket")
}

// tokens splits a list at its commas; empty parts are left out.
func tokens(list string) []string {
	var out []string
	for token := range strings.SplitSeq(list, ",") {
		if token = strings.Trim(token, " \t"); token != "" {
			out = append(out, token)
		}
	}
	return out
}

// bodyBytes returns the Content-Length of the question, 0 without one.
func (r *request) bodyBytes() int64 {
	n, err := strconv.ParseInt(r.headers.first("content-length"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// asksByGRPC reports whether Envoy treats a request as a gRPC call and answers with a gRPC status.
func (r *request) asksByGRPC() bool {
	rest, ok := strings.CutPrefix(r.headers.first("content-type"), "application/grpc")
	return ok && (rest == "" || rest[0] == '+')
}
