package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

// filterWords returns, as text, what a setting of a route's rule does. The parameter kind says which setting: a
// filter (such as "RequestHeaderModifier"), ir.PartExternalAuth, ir.PartTimeouts or ir.PartRetry. filterWords
// returns "" for any other kind, such as a field of policies.
func filterWords(kind string, a *ir.Action) string {
	switch kind {
	case string(gwv1.HTTPRouteFilterRequestHeaderModifier):
		return modsWords(a.RequestHeaders.OrNone())
	case string(gwv1.HTTPRouteFilterResponseHeaderModifier):
		return modsWords(a.ResponseHeaders.OrNone())
	case string(gwv1.HTTPRouteFilterRequestRedirect):
		return redirectWords(a.Redirect)
	case string(gwv1.HTTPRouteFilterURLRewrite):
		return rewriteWords(a.Rewrite)
	case string(gwv1.HTTPRouteFilterRequestMirror):
		return cmp.Or(withoutBackend(a), mirrorWords(a.Mirrors))
	case string(gwv1.HTTPRouteFilterCORS):
		return corsWords(a.CORS)
	case ir.PartExternalAuth:
		return authWords(a.ExternalAuth)
	case ir.PartTimeouts:
		return cmp.Or(withoutBackend(a), timeoutWords(namedTimeout{"request", a.RequestTimeout}, namedTimeout{"backendRequest", a.BackendTimeout}))
	case ir.PartRetry:
		return cmp.Or(withoutBackend(a), retryWords(a, a.Retry))
	}
	return ""
}

// redirectWords returns a redirect as text: its status, and the parts of the URL that it changes. It returns ""
// if r is nil.
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
	if r.Port != 0 && (!r.PortLess || r.PortLessIn != "") {
		words = append(words, fmt.Sprintf("port %d", r.Port))
	}
	return strings.Join(append(words, changeWords(r.Path)...), ", ")
}

// rewriteWords returns, as text, which host and path a rewrite writes. It returns "" if r is nil.
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

// changeWords returns a change of the path as text. It returns nil without a change.
func changeWords(c *ir.PathChange) []string {
	switch {
	case c == nil:
		return nil
	case c.Full:
		return []string{"path " + c.Value}
	}
	return []string{fmt.Sprintf("path prefix %s becomes %s", orRoot(c.Prefix), orRoot(c.Value))}
}

// mirrorWords returns, as text, which share of the requests is copied to which clusters. Without mirrors, the
// text says that the backend reference is not resolved.
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
	return "copy " + strings.Join(words, ", ") + ", with the same Host"
}

// modsWords returns changes of headers as text, "" without changes.
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

// corsWords returns, as text, which origins are allowed.
func corsWords(cors *ir.CORS) string {
	if cors == nil || len(cors.Origins) == 0 {
		return "no origin is allowed"
	}
	var origins []string
	for _, m := range cors.Origins {
		origins = append(origins, m.Value)
	}
	return "allowed origins: " + strings.Join(origins, ", ")
}

// namedTimeout is a timeout with its name. The field time is nil if the timeout is not set, and 0 means no limit.
type namedTimeout struct {
	name string
	time *time.Duration
}

// timeoutWords returns, as text, the timeouts that are set. It returns "" if none is set.
func timeoutWords(limits ...namedTimeout) string {
	var words []string
	for _, limit := range limits {
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

// retryWords returns, as text, how often and when Envoy tries again by the retries r of an action, and which requests it
// does not try again. It returns "" if r is nil.
func retryWords(a *ir.Action, r *ir.Retry) string {
	if r == nil {
		return ""
	}
	words := []string{fmt.Sprintf("%d more attempts", r.Attempts)}
	if r.Attempts == 1 {
		words = []string{"1 more attempt"}
	}
	causes := slices.Clone(r.On)
	if len(causes) == 0 {
		causes = []string{"no answer"}
	}
	for _, code := range r.Codes {
		causes = append(causes, fmt.Sprint(code))
	}
	words = append(words, "on "+strings.Join(causes, " or "))
	if r.Backoff > 0 {
		words = append(words, fmt.Sprintf("the first after at most %s", r.Backoff))
	}
	if r.Attempts > 0 && !buffered(a) {
		words = append(words, fmt.Sprintf("none for a body of more than %d KiB", ir.ConnectionBuffer>>10))
	}
	return strings.Join(words, ", ")
}

// buffered reports whether Envoy keeps the whole body of each request that an action forwards, whatever its size: for
// the policies' buffer, or to send it to an authorization service.
func buffered(a *ir.Action) bool {
	if a.Extras.OrNone().BufferBytes > 0 {
		return true
	}
	auth := a.AuthInForce()
	if auth == nil || auth.Extension.Auth.Percent < 100 {
		return false
	}
	body := cmp.Or(auth.Body, auth.Extension.Auth.Body)
	return body != nil && !body.Partial && body.Max > 0
}

// changePath returns a path after a change (Gateway API, HTTPPathModifier). The parameter path has no query.
// changePath returns path unchanged if change is nil, or if the change is to replace a prefix (change.Prefix) and
// path does not begin with this prefix.
func changePath(change *ir.PathChange, path string) string {
	if change == nil {
		return path
	}
	if change.Full {
		return change.Value
	}
	if !scope.CoversPath(change.Prefix, path) {
		return path
	}
	return orRoot(strings.TrimSuffix(change.Value, "/") + strings.TrimPrefix(path, strings.TrimSuffix(change.Prefix, "/")))
}

// orRoot returns path, or "/" if path is "".
func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}
