package explain

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/translate/ir"
)

// gate is what a filter of Envoy's chain does with a request: it answers with status, or passes the
// request on. unless lists what the filter may do instead, in words, if that depends on facts that
// are not known.
type gate struct {
	status uint32 // 0 passes it on
	why    string
	// location is where a redirect leads to, without the parameters that Envoy adds.
	location string
	// at is the field that decides, where one is known.
	at     Source
	unless []string
	// reply is true for an answer that gRPC clients get as a gRPC status, whatever its status.
	reply bool
	// http is true for an answer that gRPC clients get as any other.
	http bool
}

// outcome returns the answer of a filter, with what may happen instead.
func (g gate) outcome(unless []string) Outcome {
	return Outcome{Policed: true, reply: g.reply, http: g.http, Status: g.status, Location: g.location, Why: g.why, At: g.at, Unless: append(unless, g.unless...)}
}

// corsGate answers a preflight request if the rule has a backend.
func corsGate(rule *ir.Rule, r *request) gate {
	cors := rule.Action.CORSInForce()
	if cors == nil || !preflight(cors, r) || len(backends(rule, r)) == 0 {
		return gate{}
	}
	return gate{status: http.StatusOK, why: "Envoy answers the CORS preflight request itself, by " + corsParts(&rule.Action)}
}

func csrfGate(rule *ir.Rule, r *request) gate {
	csrf := rule.Action.Extras.OrNone().CSRF
	if csrf == nil || csrf.Enabled < 100 || !forged(csrf, r) {
		return gate{unless: unlessForged(csrf, r)}
	}
	return gate{status: http.StatusForbidden, why: "Envoy rejects the request by " + partsOf(&rule.Action, ir.FieldCSRF.PartKind()) + ": " + forgedWords(r)}
}

// unlessForged returns what Envoy's CSRF filter does with a share of the requests, in words. It
// returns nil if the filter treats all these requests the same.
func unlessForged(csrf *ir.CSRF, r *request) []string {
	switch {
	case csrf == nil || !forged(csrf, r):
	case csrf.Enabled > 0 && csrf.Enabled < 100:
		return []string{fmt.Sprintf("csrf: it is one of the %d%% that are rejected (403): %s", csrf.Enabled, forgedWords(r))}
	case csrf.Enabled == 0 && csrf.Shadowed > 0 && csrf.Shadowed < 100: // Envoy draws twice, and rejects where the second says no
		return []string{fmt.Sprintf("csrf: Envoy rejects some of the requests that it only is to check where that is %d%% (403): %s", csrf.Shadowed, forgedWords(r))}
	}
	return nil
}

func bufferGate(rule *ir.Rule, r *request) gate {
	most := int64(rule.Action.Extras.OrNone().BufferBytes)
	if most == 0 || r.bodyBytes() <= most || r.upgrades() {
		return gate{}
	}
	return gate{status: http.StatusRequestEntityTooLarge, why: fmt.Sprintf("the request has a body of %d bytes, and %s takes %d", r.bodyBytes(), partsOf(&rule.Action, ir.FieldBuffer.PartKind()), most)}
}

// localLimitGate returns what may happen, because the number of earlier requests is not known.
func localLimitGate(rule *ir.Rule, _ *request) gate {
	limit := rule.Action.Extras.OrNone().RateLimit
	if limit == nil || limit.Enabled == 0 || limit.Enforced == 0 {
		return gate{}
	}
	return gate{unless: []string{"rateLimit.local: too many requests came before (429)"}}
}

// corsParts returns the objects with the effective CORS settings, in words. The route's own filter
// wins over policies.
func corsParts(action *ir.Action) string {
	if action.CORS != nil {
		return partsOf(action, string(gwv1.HTTPRouteFilterCORS))
	}
	return partsOf(action, ir.FieldCORS.PartKind())
}

// partsOf returns the objects of an action's Parts of a kind, each with its field, in words.
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

func preflight(cors *ir.CORS, r *request) bool {
	origin := r.headers.first("origin")
	return r.query.Method == http.MethodOptions && r.headers.first("access-control-request-method") != "" &&
		(matchesAny(cors.Origins, origin) || cors.Alone && origin != "")
}

// forged reports whether a request with a changing method comes neither from its own host nor from
// an additional origin.
func forged(csrf *ir.CSRF, r *request) bool {
	if !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch}, r.query.Method) {
		return false
	}
	source := sourceOrigin(r)
	return source == "" || source != targetOrigin(r) && !matchesAny(csrf.Origins, source)
}

// sourceOrigin returns the host and port of a request's Origin header, else of its Referer.
func sourceOrigin(r *request) string {
	if origin := hostAndPort(r.headers.first("origin")); origin != "" {
		return origin
	}
	return hostAndPort(r.headers.first("referer"))
}

// targetOrigin returns the host and port that a request is sent to. Envoy reads them from a URL of
// the scheme and the Host header, without a user.
func targetOrigin(r *request) string {
	if r.query.Host == "" {
		return ""
	}
	return hostAndPort(r.scheme + "://" + r.query.Host)
}

// hostAndPort returns the host and port of an absolute URL. It returns other texts unchanged, such
// as the Origin "null".
func hostAndPort(text string) string {
	if a, ok := parseAddress(text); ok {
		return a.host
	}
	return text
}

// forgedWords returns why the CSRF filter rejects a request.
func forgedWords(r *request) string {
	source := sourceOrigin(r)
	if source == "" {
		return "it has neither an Origin nor a Referer header"
	}
	return fmt.Sprintf("it comes from %q, which is neither its own host %q nor an additional origin", source, r.query.Host)
}

func matchesAny(list []ir.StringMatch, text string) bool {
	return text != "" && slices.ContainsFunc(list, func(m ir.StringMatch) bool { return matchesText(m, text) })
}

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
