package explain

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// MatchWords returns a match as text: "path prefix /cart, method GET, header x-env: prod".
func MatchWords(m ir.Match) string {
	words := []string{pathWords(m.Path)}
	if m.Within != "" {
		words = append(words, "path below "+m.Within)
	}
	if len(m.Hosts) > 0 {
		words = append(words, "host "+strings.Join(m.Hosts, " or "))
	}
	if m.Method != "" {
		words = append(words, "method "+m.Method)
	}
	for _, h := range m.Headers {
		words = append(words, "header "+valueWords(h, ": "))
	}
	for _, q := range m.Query {
		words = append(words, "query parameter "+valueWords(q, "="))
	}
	return strings.Join(words, ", ")
}

// RuleWords returns the match of a rule as text. For a rule that was added for preflight requests, the text has the match
// that these are for.
func RuleWords(rule *ir.Rule) string {
	if rule.Preflight != nil {
		return "CORS preflight requests for " + MatchWords(*rule.Preflight)
	}
	return MatchWords(rule.Match)
}

// pathWords returns a path match as text.
func pathWords(p ir.Path) string {
	if p.RPC.Is {
		return rpcWords(p.RPC)
	}
	switch p.Kind {
	case ir.PathExact:
		return "exact path " + p.Value
	case ir.PathRegex:
		return "path matching " + p.Value
	}
	return "path prefix " + p.Value
}

// rpcWords returns, as text, the gRPC service and method of a path match.
func rpcWords(rpc ir.RPC) string {
	is, words := " ", []string{}
	if rpc.Regex {
		is = " matching "
	}
	if rpc.Service != "" {
		words = append(words, "service"+is+rpc.Service)
	}
	if rpc.Method != "" {
		words = append(words, "method"+is+rpc.Method)
	}
	if len(words) == 0 {
		return "every call"
	}
	return strings.Join(words, ", ")
}

// valueWords returns the match of a header or query parameter as text: the name, the separator and the value. For a
// regular expression, the text is the name, " matching " and the expression.
func valueWords(v ir.ValueMatch, separator string) string {
	if v.Regex {
		return v.Name + " matching " + v.Value
	}
	return v.Name + separator + v.Value
}

// GRPCStatus returns the gRPC status code that Envoy sends for an HTTP status, and its name.
func GRPCStatus(status uint32) (code int, name string) {
	switch status {
	case http.StatusBadRequest:
		return 13, "INTERNAL"
	case http.StatusUnauthorized:
		return 16, "UNAUTHENTICATED"
	case http.StatusForbidden:
		return 7, "PERMISSION_DENIED"
	case http.StatusNotFound:
		return 12, "UNIMPLEMENTED"
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 14, "UNAVAILABLE"
	}
	return 2, "UNKNOWN"
}

// grpcWords returns the code and the name of the gRPC status that a gRPC client gets instead of an HTTP status,
// such as "14 UNAVAILABLE". The parameter byGRPC says whether the client gets a gRPC status at all. If it is false,
// grpcWords returns "".
func grpcWords(byGRPC bool, status uint32) string {
	if !byGRPC {
		return ""
	}
	code, name := GRPCStatus(status)
	return fmt.Sprintf("%d %s", code, name)
}
