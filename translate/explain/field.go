package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// policyField has the functions that explain one field of TrafficPolicies.
type policyField struct {
	name ir.Field
	// words returns, as text, what the field does. It is called for the extras of a rule with this field in force,
	// also if the field only turns off the settings of other policies.
	words func(*ir.Extras) string
	// gate returns what the field's filter does with a request. It is nil if the filter never answers a request.
	gate func(*ir.Rule, *request) gate
	// change makes the field's changes to the request's headers. It is nil if the field makes no changes.
	change func(*request, headerFields, *ir.Extras)
}

// policyFields returns a row for each field. Rows with a gate or a change are in the order of Envoy's filter
// chain, which is also the order of policyFields in package xds.
func policyFields() []policyField {
	return []policyField{
		{name: ir.FieldCORS, words: policyCORSWords, gate: corsGate},
		{name: ir.FieldACL, words: aclWords, gate: aclGate},
		{name: ir.FieldCSRF, words: csrfWords, gate: csrfGate},
		{name: ir.FieldOAuth2, words: oauth2Words, gate: oauth2Gate, change: replaceToken},
		{name: ir.FieldJWTAuth, words: jwtAuthWords, gate: jwtAuthGate, change: writeClaims},
		{name: ir.FieldBasicAuth, words: basicAuthWords, gate: basicAuthGate, change: replacePassword},
		{name: ir.FieldAPIKeyAuth, words: apiKeyAuthWords, gate: apiKeyAuthGate, change: replaceKey},
		{name: ir.FieldBuffer, words: bufferWords, gate: bufferGate},
		{name: ir.FieldExtAuth, words: policyAuthWords, gate: authGate, change: replaceIdentity},
		{name: ir.FieldRBAC, words: rbacWords, gate: rbacGate},
		{name: ir.FieldLocalRateLimit, words: localLimitWords, gate: localLimitGate},
		{name: ir.FieldGlobalRateLimit, words: globalLimitWords, gate: globalLimitGate},
		{name: ir.FieldExtProc, words: processorWords, gate: processorGate},
		{name: ir.FieldTransformation, words: transformationWords, change: transform},
		{name: ir.FieldHeaderModifiers, words: modifiersWords, change: modify},
		{name: ir.FieldAutoHostRewrite, words: autoHostWords},
		{name: ir.FieldTimeouts, words: policyTimeoutWords},
		{name: ir.FieldRetry, words: func(e *ir.Extras) string { return retryWords(&ir.Action{Extras: e}, e.Retry) }},
		{name: ir.FieldHashPolicies, words: func(e *ir.Extras) string { return hashWords(e.Hash) }},
	}
}

// ActionWords returns, as text, what one policy field, filter or setting does in a rule's action. The parameter part
// says by its Kind which field, filter or setting is meant. If several objects set it for this action, the text is
// about all of them. ActionWords returns "" if there is no text for the kind.
func ActionWords(part ir.Part, a *ir.Action) string {
	if field, ok := part.PolicyField(); ok && a.Extras != nil {
		if field == ir.FieldGlobalRateLimit && a.Forward == nil && a.Extras.GlobalLimit != nil {
			return "does not count these requests: Envoy asks for those that it forwards"
		}
		if field == ir.FieldRetry {
			return cmp.Or(withoutBackend(a), retryWords(a, a.Extras.Retry))
		}
		if field == ir.FieldTimeouts {
			return cmp.Or(withoutBackend(a), policyWords(field, a.Extras))
		}
		return policyWords(field, a.Extras)
	}
	return filterWords(part.Kind, a)
}

// withoutBackend returns what a setting that is only for requests to backends does in an action that forwards no
// request, as text. It returns "" if the action forwards requests.
func withoutBackend(a *ir.Action) string {
	switch {
	case a.Redirect != nil:
		return "nothing: the rule redirects"
	case !Forwards(a):
		return "nothing: the rule has no backend"
	}
	return ""
}

// Forwards reports whether an action sends requests to at least one backend.
func Forwards(a *ir.Action) bool {
	return a.Forward != nil && slices.ContainsFunc(a.Forward.Backends, func(b ir.Backend) bool {
		return b.Weight > 0 && b.Cluster != ""
	})
}

// policyWords returns, as text, what a field of the policies does for a rule. extras are the settings of all
// policies of the rule. It returns "" for an unknown field. For some fields, such as retry, it also returns "" if
// extras do not set the field.
func policyWords(name ir.Field, extras *ir.Extras) string {
	for _, field := range policyFields() {
		if field.name == name {
			return field.words(extras)
		}
	}
	return ""
}

// TurnedOff is the text for a policy field that does nothing but turn off the settings of other policies.
const TurnedOff = "turned off"

// policyCORSWords returns, as text, which origins the policies' cors allows, or TurnedOff if a policy turns it
// off.
func policyCORSWords(extras *ir.Extras) string {
	if extras.CORS == nil {
		return TurnedOff
	}
	return corsWords(extras.CORS)
}

// bufferWords returns the body limit of the policies' buffer as text, or TurnedOff if a policy turns it off.
func bufferWords(extras *ir.Extras) string {
	if extras.BufferBytes == 0 {
		return TurnedOff
	}
	return fmt.Sprintf("requests over %d bytes are answered with 413", extras.BufferBytes)
}

// localLimitWords returns the limit of the policies' rateLimit.local as text, or TurnedOff if a policy turns it
// off.
func localLimitWords(extras *ir.Extras) string {
	limit := extras.RateLimit
	if limit == nil {
		return TurnedOff
	}
	return fmt.Sprintf("%d requests at first, %d more every %s", limit.Max, limit.Fill, limit.Interval)
}

// modifiersWords returns, as text, how the policies' headerModifiers change requests and answers, or TurnedOff
// if they change nothing.
func modifiersWords(extras *ir.Extras) string {
	var words []string
	if !extras.RequestHeaders.IsZero() {
		words = append(words, modsWords(extras.RequestHeaders))
	}
	if !extras.ResponseHeaders.IsZero() {
		words = append(words, "answers: "+modsWords(extras.ResponseHeaders))
	}
	return cmp.Or(strings.Join(words, "; "), TurnedOff)
}

// modify applies the policies' headerModifiers to the headers of a request.
func modify(_ *request, headers headerFields, extras *ir.Extras) {
	changeHeaders(headers, extras.RequestHeaders)
}

// autoHostWords returns, as text, what autoHostRewrite of the policies does, or TurnedOff if a policy turns it
// off.
func autoHostWords(extras *ir.Extras) string {
	if !extras.AutoHost {
		return TurnedOff
	}
	return "the host becomes the DNS name of the endpoint"
}

// policyTimeoutWords returns, as text, the timeouts that the policies set. It returns "" if they set none.
func policyTimeoutWords(extras *ir.Extras) string {
	return timeoutWords(namedTimeout{"request", extras.RequestTimeout}, namedTimeout{"streamIdle", extras.IdleTimeout})
}

// processorWords returns, as text, which service may change requests and answers (extProc), or TurnedOff if a
// policy turns it off.
func processorWords(extras *ir.Extras) string {
	if extras.ExtProc == nil {
		return TurnedOff
	}
	service := extras.ExtProc.Extension
	return fmt.Sprintf("%s sees and changes requests and answers; %s", service.Service.Cluster,
		outageWords(service.Processor.FailOpen, http.StatusInternalServerError))
}

// globalLimitWords returns, as text, which service counts requests, by which descriptors, and what happens if
// the service fails. It returns TurnedOff if a policy turns the limit off.
func globalLimitWords(extras *ir.Extras) string {
	if extras.GlobalLimit == nil {
		return TurnedOff
	}
	service := extras.GlobalLimit.Extension
	return fmt.Sprintf("%s counts requests by %s; %s", service.Service.Cluster, descriptorWords(extras.GlobalLimit.Descriptors),
		outageWords(service.Limiter.FailOpen, http.StatusInternalServerError))
}

// csrfWords returns, as text, which requests the policies' csrf rejects or only checks, or TurnedOff if a
// policy turns it off.
func csrfWords(extras *ir.Extras) string {
	csrf := extras.CSRF
	if csrf == nil || csrf.Enabled+csrf.Shadowed == 0 {
		return TurnedOff
	}
	words := "requests that change something from another origin are answered with 403"
	if len(csrf.Origins) > 0 {
		words += ", but for " + strings.Join(matchTexts(csrf.Origins), ", ")
	}
	switch {
	case csrf.Enabled == 0:
		words = shadowWords(csrf.Shadowed)
	case csrf.Enabled < 100:
		words = fmt.Sprintf("for %d%% of the requests: %s", csrf.Enabled, words)
	}
	return words
}

// shadowWords returns, as text, what Envoy's CSRF filter does if the policies' csrf sets percentageShadowed, and not
// percentageEnabled. At 100%, the filter checks all requests and rejects none. Below 100%, it rejects some of the
// requests from another origin. A comment in unlessForged says why.
func shadowWords(percent uint32) string {
	if percent < 100 {
		return fmt.Sprintf("%d%% of the requests are only to be checked, but Envoy rejects some that come from another origin (403)", percent)
	}
	return "all requests are checked, and none is rejected"
}

// matchTexts returns the text of each match, such as an origin, whether the match is exact or not.
func matchTexts(matches []ir.StringMatch) (out []string) {
	for _, m := range matches {
		out = append(out, m.Value)
	}
	return out
}

// transformationWords returns, as text, which headers a transformation of the policies changes. It returns ""
// if it changes none.
func transformationWords(extras *ir.Extras) string {
	var words []string
	for _, side := range []struct {
		prefix  string
		changes []ir.HeaderChange
	}{{"", extras.Request}, {"in answers ", extras.Response}} {
		for _, change := range side.changes {
			verb := map[ir.ChangeKind]string{ir.SetHeader: "set ", ir.AddHeader: "add ", ir.RemoveHeader: "remove "}[change.Kind]
			words = append(words, side.prefix+verb+change.Name)
		}
	}
	return strings.Join(words, ", ")
}

// hashWords returns, as text, which values of a request choose the endpoint. It returns "" without hashes.
func hashWords(hashes []ir.Hash) string {
	var words []string
	for _, hash := range hashes {
		switch {
		case hash.Header != "":
			words = append(words, "header "+hash.Header)
		case hash.Cookie != nil:
			words = append(words, "cookie "+hash.Cookie.Name)
		case hash.SourceIP:
			words = append(words, "client address")
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "the endpoint follows from " + strings.Join(words, ", ")
}

// outageWords returns, as text, what happens to requests while an external service does not answer. If open is
// true, they pass (fail open). Otherwise Envoy answers with status.
func outageWords(open bool, status uint32) string {
	if open {
		return "requests pass while it does not answer"
	}
	return fmt.Sprintf("%d while it does not answer", status)
}

// descriptorWords returns, as text, by which values of requests a rate limit service counts.
func descriptorWords(descriptors [][]ir.LimitEntry) string {
	var all []string
	for _, descriptor := range descriptors {
		var entries []string
		for _, entry := range descriptor {
			switch {
			case entry.Address:
				entries = append(entries, "client address")
			case entry.Header == ":path":
				entries = append(entries, "path")
			case entry.Header != "":
				entries = append(entries, "header "+entry.Header)
			default:
				entries = append(entries, entry.Key+"="+entry.Value)
			}
		}
		all = append(all, strings.Join(entries, " and "))
	}
	return strings.Join(all, ", by ")
}
