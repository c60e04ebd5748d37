package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/ir"
)

// matchWords is a match in words: "path prefix /cart, GET, header x-env: prod".
func matchWords(m ir.Match) string {
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

func valueWords(v ir.ValueMatch, is string) string {
	if v.Regex {
		return v.Name + " matching " + v.Value
	}
	return v.Name + is + v.Value
}

// actionWords says what the parts of a kind do together, "" for a kind that is
// not known here.
func actionWords(kind string, a *ir.Action) string {
	switch kind {
	case "RequestHeaderModifier":
		return modsWords(a.RequestHeaders.OrNone())
	case "ResponseHeaderModifier":
		return modsWords(a.ResponseHeaders.OrNone())
	case "RequestRedirect":
		return redirectWords(a.Redirect)
	case "URLRewrite":
		return rewriteWords(a.Rewrite)
	case "RequestMirror":
		return mirrorWords(a.Mirrors)
	case "CORS":
		return corsWords(a.CORS)
	case "timeouts":
		return timeoutWords(a)
	case "retry":
		return retryWords(a.Retry)
	}
	if field, ok := strings.CutPrefix(kind, "TrafficPolicy "); ok && a.Extras != nil {
		return policyWords(field, a.Extras)
	}
	return ""
}

func modsWords(m ir.HeaderMods) string {
	var words []string
	for _, h := range m.Set {
		words = append(words, fmt.Sprintf("set %s: %s", h.Name, h.Value))
	}
	for _, h := range m.Add {
		words = append(words, fmt.Sprintf("add %s: %s", h.Name, h.Value))
	}
	for _, name := range m.Remove {
		words = append(words, "remove "+name)
	}
	return strings.Join(words, ", ")
}

func redirectWords(r *ir.Redirect) string {
	if r == nil {
		return ""
	}
	words := []string{fmt.Sprint(r.Status)}
	if r.Scheme != "" {
		words = append(words, "scheme "+r.Scheme)
	}
	if r.Hostname != "" {
		words = append(words, "host "+r.Hostname)
	}
	if r.Port != 0 {
		words = append(words, fmt.Sprintf("port %d", r.Port))
	}
	return strings.Join(append(words, changeWords(r.Path)...), ", ")
}

func rewriteWords(r *ir.Rewrite) string {
	if r == nil {
		return ""
	}
	var words []string
	if r.Hostname != "" {
		words = append(words, "host "+r.Hostname)
	}
	return strings.Join(append(words, changeWords(r.Path)...), ", ")
}

func changeWords(c *ir.PathChange) []string {
	switch {
	case c == nil:
		return nil
	case c.Full:
		return []string{"path " + orRoot(c.Value)}
	}
	return []string{fmt.Sprintf("path prefix %s becomes %s", orRoot(c.Prefix), orRoot(c.Value))}
}

func mirrorWords(mirrors []ir.Mirror) string {
	var words []string
	for _, m := range mirrors {
		share := "every request"
		if m.Denominator != 0 && m.Numerator < m.Denominator {
			share = fmt.Sprintf("%d of %d requests", m.Numerator, m.Denominator)
		}
		words = append(words, share+" to "+m.Cluster)
	}
	if len(words) == 0 {
		return "nothing: the reference is not resolved"
	}
	return "copy " + strings.Join(words, ", ")
}

// namedTimeout is a time limit, nil for none.
type namedTimeout struct {
	name string
	time *time.Duration
}

func timeoutWords(a *ir.Action, more ...namedTimeout) string {
	var words []string
	for _, limit := range append([]namedTimeout{{"request", a.RequestTimeout}, {"backendRequest", a.BackendTimeout}}, more...) {
		switch {
		case limit.time == nil:
		case *limit.time == 0:
			words = append(words, limit.name+" without limit")
		default:
			words = append(words, fmt.Sprintf("%s %s", limit.name, *limit.time))
		}
	}
	return strings.Join(words, ", ")
}

func retryWords(r *ir.Retry) string {
	if r == nil {
		return ""
	}
	words := []string{fmt.Sprintf("%d more attempts", r.Attempts)}
	if r.Attempts == 1 {
		words = []string{"1 more attempt"}
	}
	if len(r.Codes) > 0 {
		words = append(words, "on "+strings.Trim(fmt.Sprint(r.Codes), "[]"))
	}
	if r.Backoff > 0 {
		words = append(words, fmt.Sprintf("%s apart at least", r.Backoff))
	}
	return strings.Join(words, ", ")
}
