package explain

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/translate/ir"
)

// gate is what a filter of Envoy's chain does with a request: it answers with status, or passes the request on.
// An empty gate always passes the request on. The field unless lists, as texts, what the filter may do instead,
// because some facts are not known.
type gate struct {
	status uint32 // 0 if the filter passes the request on
	why    string
	// location is the target of a redirect, without the parameters that Envoy adds.
	location string
	// at is the field that decides, empty if it is not known.
	at     Source
	unless []string
	// Usually, Envoy answers gRPC clients with a gRPC status if the HTTP status is 300 or above. If the field reply
	// is true, Envoy also does so below 300.
	reply bool
	// If the field http is true, Envoy never does so: gRPC clients get the HTTP status, as all other clients do.
	http bool
}

// outcome returns the Outcome of a request that the filter of g answers. The field Outcome.Unless has the texts of
// the parameter earlier, for example from earlier filters, followed by the texts in g.unless.
func (g gate) outcome(earlier []string) Outcome {
	return Outcome{Policed: true, reply: g.reply, http: g.http, Status: g.status, Location: g.location, Why: g.why, At: g.at, Unless: append(earlier, g.unless...)}
}

// corsGate answers a CORS preflight request with 200, if the rule has CORS settings and these let Envoy answer the
// request's origin itself (see preflight). The gate is empty for all other requests. It is also empty if the rule
// has no resolved backend reference with a weight above 0, unless it was added for preflight requests.
func corsGate(rule *ir.Rule, r *request) gate {
	cors := rule.Action.CORSInForce()
	answers := rule.Preflight != nil && rule.Action.Respond == nil || cors != nil && preflight(cors, r) && len(backends(rule, r)) > 0
	if !answers {
		return gate{}
	}
	return gate{status: http.StatusOK, why: "Envoy answers the CORS preflight request itself, by " + corsParts(&rule.Action)}
}

// csrfGate returns what the CSRF filter does with a request. The gate is empty if the filter certainly passes the
// request on. If the request is from another origin, and the filter rejects all such requests, the gate answers 403.
// If the filter rejects only a share of them, the gate has no status, and gate.unless has the text of unlessForged.
func csrfGate(rule *ir.Rule, r *request) gate {
	csrf := rule.Action.Extras.OrNone().CSRF
	if csrf == nil || csrf.Enabled < 100 || !forged(csrf, r) {
		return gate{unless: unlessForged(csrf, r)}
	}
	return gate{status: http.StatusForbidden, why: "Envoy rejects the request by " + partsOf(&rule.Action, ir.FieldCSRF.PartKind()) + ": " + forgedWords(r)}
}

// unlessForged returns a text if the CSRF filter rejects only a share of the requests from another origin, and
// the request is from another origin. Otherwise it returns nil.
func unlessForged(csrf *ir.CSRF, r *request) []string {
	switch {
	case csrf == nil || !forged(csrf, r):
	case csrf.Enabled > 0 && csrf.Enabled < 100:
		return []string{fmt.Sprintf("csrf: it is one of the %d%% that are rejected (403): %s", csrf.Enabled, forgedWords(r))}
	case csrf.Enabled == 0 && csrf.Shadowed > 0 && csrf.Shadowed < 100: // Envoy draws two random numbers, and rejects if only the first one selects the request
		return []string{fmt.Sprintf("csrf: percentageShadowed is %d%%, and Envoy rejects some of the requests that it should only check (403): %s", csrf.Shadowed, forgedWords(r))}
	}
	return nil
}

// bufferGate answers 413 if the body of a request is longer than the policies' buffer. The gate is empty for
// other requests, for upgrades, and without a buffer.
func bufferGate(rule *ir.Rule, r *request) gate {
	most := int64(rule.Action.Extras.OrNone().BufferBytes)
	if most == 0 || r.bodyBytes() <= most || r.upgrades() {
		return gate{}
	}
	return gate{status: http.StatusRequestEntityTooLarge, why: fmt.Sprintf("the request has a body of %d bytes, and %s takes %d", r.bodyBytes(), partsOf(&rule.Action, ir.FieldBuffer.PartKind()), most)}
}

// localLimitGate returns an empty gate if the rule has no local rate limit, or one that rejects no request.
// Otherwise Envoy may answer 429. This depends on the number of earlier requests, which is not known, and so only
// gate.unless says it.
func localLimitGate(rule *ir.Rule, _ *request) gate {
	limit := rule.Action.Extras.OrNone().RateLimit
	if limit == nil || limit.Enabled == 0 || limit.Enforced == 0 {
		return gate{}
	}
	return gate{unless: []string{"rateLimit.local: too many requests came before (429)"}}
}

// corsParts returns, as text, the objects from which the effective CORS settings were read: the route's own
// filter, or else policies.
func corsParts(action *ir.Action) string {
	if action.CORS != nil {
		return partsOf(action, string(gwv1.HTTPRouteFilterCORS))
	}
	return partsOf(action, ir.FieldCORS.PartKind())
}

// partsOf returns, as text, where the settings of one kind in an action were read from. The text has the Object and
// the Field of each of the action's Parts with this kind (ir.Part.Kind). If the action has no such Part, the text is
// the kind.
func partsOf(action *ir.Action, kind string) string {
	var names []string
	for _, part := range action.Parts {
		if name := part.Object.String() + " (" + part.Field + ")"; part.Kind == kind && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return kind
	}
	return strings.Join(names, " and ")
}

// preflight reports whether a request is a CORS preflight request that Envoy answers by itself. Envoy answers the
// preflight requests of the allowed origins (cors.Origins). If cors.Alone is true, Envoy answers those of all other
// origins, too. A request without the header Origin is no preflight request.
func preflight(cors *ir.CORS, r *request) bool {
	return asksBefore(r) && (cors.Alone || matchesAny(cors.Origins, r.headers.first("origin")))
}

// asksBefore reports whether a request is a CORS preflight request.
func asksBefore(r *request) bool {
	return r.query.Method == http.MethodOptions && r.headers.first("access-control-request-method") != "" && r.headers.first("origin") != ""
}

// forged reports whether another site may have forged a request (CSRF): its method changes something, and its
// Origin (or Referer) is neither the request's own host nor an additional origin of csrf. A request without
// Origin and Referer may be forged, too.
func forged(csrf *ir.CSRF, r *request) bool {
	if !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch}, r.query.Method) {
		return false
	}
	source := sourceOrigin(r)
	return source == "" || source != targetOrigin(r) && !matchesAny(csrf.Origins, source)
}

// sourceOrigin returns the host and port of a request's Origin header. Without that header it returns those of
// Referer. It returns "" if the request has neither header.
func sourceOrigin(r *request) string {
	if origin := hostAndPort(r.headers.first("origin")); origin != "" {
		return origin
	}
	return hostAndPort(r.headers.first("referer"))
}

// targetOrigin returns the host and port that a request is sent to, without a user name. As Envoy does, it reads them
// from the URL SCHEME://HOST, in which HOST is the Host header. It returns "" if the request has no Host header.
func targetOrigin(r *request) string {
	if r.query.Host == "" {
		return ""
	}
	return hostAndPort(r.scheme + "://" + r.query.Host)
}

// hostAndPort returns the host and port of an absolute URL. It returns other texts unchanged, such as the
// Origin "null".
func hostAndPort(text string) string {
	if a, ok := parseAddress(text); ok {
		return a.host
	}
	return text
}

// forgedWords returns, as text, why the CSRF filter rejects a request.
func forgedWords(r *request) string {
	source := sourceOrigin(r)
	if source == "" {
		return "it has neither an Origin nor a Referer header"
	}
	return fmt.Sprintf("it comes from %q, which is neither its own host %q nor an additional origin", source, r.query.Host)
}

// matchesAny reports whether a text meets one of the matches. It returns false for the text "".
func matchesAny(list []ir.StringMatch, text string) bool {
	return text != "" && slices.ContainsFunc(list, func(m ir.StringMatch) bool { return matchesText(m, text) })
}

// matchesText reports whether a text meets a match.
func matchesText(m ir.StringMatch, text string) bool {
	value := m.Value
	if m.IgnoreCase {
		value, text = strings.ToLower(value), strings.ToLower(text)
	}
	switch m.Kind {
	case ir.StringPrefix:
		return strings.HasPrefix(text, value)
	case ir.StringSuffix:
		return strings.HasSuffix(text, value)
	case ir.StringContains:
		return strings.Contains(text, value)
	case ir.StringRegex:
		return matchesWhole(m.Value, text)
	}
	return text == value
}
