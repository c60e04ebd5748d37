package explain

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// headerFields are the headers of a request as Envoy keeps them: the values by name. Names are in lower case,
// and the values of a repeated header are in order.
type headerFields map[string][]string

// joinedHeaders are the request headers that Envoy 1.40 keeps in one line. It joins the values of a repeated
// header with commas, and leaves out empty values. Envoy compares each line of any other header separately. The
// list was found by sending each header twice to a real Envoy.
var joinedHeaders = setOf(
	"accept", "accept-encoding", "access-control-request-headers", "access-control-request-method",
	"access-control-request-private-network", "authorization", "cache-control", "connection", "content-encoding",
	"content-type", "expect", "grpc-accept-encoding", "grpc-timeout", "if-match", "if-modified-since", "if-none-match",
	"if-range", "if-unmodified-since", "keep-alive", "origin", "pragma", "proxy-connection", "proxy-status", "referer",
	"te", "transfer-encoding", "upgrade", "user-agent", "via", "x-client-trace-id",
	"x-envoy-attempt-count", "x-envoy-decorator-operation", "x-envoy-downstream-service-cluster",
	"x-envoy-downstream-service-node", "x-envoy-expected-rq-timeout-ms", "x-envoy-external-address", "x-envoy-force-trace",
	"x-envoy-hedge-on-per-try-timeout", "x-envoy-internal", "x-envoy-ip-tags", "x-envoy-is-timeout-retry",
	"x-envoy-max-retries", "x-envoy-original-host", "x-envoy-original-path", "x-envoy-original-url",
	"x-envoy-retriable-header-names", "x-envoy-retriable-status-codes", "x-envoy-retry-grpc-on", "x-envoy-retry-on",
	"x-envoy-upstream-alt-stat-name", "x-envoy-upstream-rq-per-try-timeout-ms",
	"x-envoy-upstream-rq-timeout-alt-response", "x-envoy-upstream-rq-timeout-ms", "x-envoy-upstream-stream-duration-ms",
	"x-forwarded-client-cert", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
	"x-request-id",
)

// setOf returns a map in which each name of the list is true.
func setOf(list ...string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, name := range list {
		out[name] = true
	}
	return out
}

// add appends a value to a header as Envoy does (see joinedHeaders).
func (f headerFields) add(name, value string) {
	name = strings.ToLower(name)
	before := f[name]
	switch {
	case len(before) == 0 || !joinedHeaders[name]:
		f[name] = append(slices.Clip(before), value)
	case value == "":
	case before[0] == "":
		f[name] = []string{value}
	default:
		f[name] = []string{before[0] + "," + value}
	}
}

func (f headerFields) set(name, value string) { f[strings.ToLower(name)] = []string{value} }

func (f headerFields) remove(name string) { delete(f, strings.ToLower(name)) }

// first returns the first value of a header, "" if the request does not have the header.
func (f headerFields) first(name string) string {
	if values := f[strings.ToLower(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

func (f headerFields) has(name string) bool { return len(f[strings.ToLower(name)]) > 0 }

func (f headerFields) clone() headerFields { return maps.Clone(f) }

// count returns the number of header lines that Envoy keeps.
func (f headerFields) count() int {
	n := 0
	for _, values := range f {
		n += len(values)
	}
	return n
}

// shown returns the headers by canonical name. Each unknown part of a value is replaced by a readable
// placeholder.
func (f headerFields) shown() http.Header {
	out := make(http.Header, len(f))
	for name, values := range f {
		for _, value := range values {
			out.Add(name, shown(value))
		}
	}
	return out
}

// headerFieldsOf returns the request headers as Envoy keeps them. The parameter headers has the headers that the
// client sends (Query.Headers). Headers whose names contain an underscore are left out, because the listener drops
// them.
func headerFieldsOf(headers http.Header) headerFields {
	out := make(headerFields, len(headers)+6)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			if !strings.Contains(name, "_") {
				out.add(name, value)
			}
		}
	}
	return out
}

// changeHeaders makes each step's changes to the headers: it removes, then sets, then adds.
func changeHeaders(headers headerFields, steps ...ir.HeaderMods) {
	for _, mods := range steps {
		for _, name := range mods.Remove {
			headers.remove(name)
		}
		for _, header := range mods.Set {
			headers.set(header.Name, header.Value)
		}
		for _, header := range mods.Add {
			headers.add(header.Name, header.Value)
		}
	}
}
