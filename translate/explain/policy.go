package explain

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// answered tells whether a policy answers in place of the rule: a preflight of
// CORS, where the rule has a back end, or a request that CSRF refuses. Limits that
// depend on what came before are not known here.
func answered(rule *ir.Rule, r *request) (status uint32, ok bool) {
	extras, cors := rule.Action.Extras, rule.Action.CORSInForce()
	switch {
	case cors != nil && preflight(cors, r) && len(backends(rule, r)) > 0:
		return http.StatusOK, true
	case extras == nil:
		return 0, false
	case extras.CSRF != nil && extras.CSRF.Enabled == 100 && forged(extras.CSRF, r):
		return http.StatusForbidden, true
	}
	return 0, false
}

func preflight(cors *ir.CORS, r *request) bool {
	headers := r.clone()
	origin := headers.Get("Origin")
	return r.query.Method == http.MethodOptions && headers.Get("Access-Control-Request-Method") != "" &&
		(matchesAny(cors.Origins, origin) || cors.Alone && origin != "")
}

// forged tells whether a request that changes something comes from neither its
// own host nor one of the origins.
func forged(csrf *ir.CSRF, r *request) bool {
	if !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch}, r.query.Method) {
		return false
	}
	headers := r.clone()
	source := headers.Get("Origin")
	if source == "" || source == "null" {
		source = headers.Get("Referer")
	}
	if u, err := url.Parse(source); err == nil && u.Host != "" {
		source = u.Host
	}
	return source == "" || source != r.query.Host && !matchesAny(csrf.Origins, source)
}

// policyWords says in short what a field of a policy does here.
func policyWords(field string, extras *ir.Extras) string {
	switch {
	case field == "cors" && extras.CORS != nil:
		return corsWords(extras.CORS)
	case field == "rateLimit.local" && extras.RateLimit != nil:
		limit := extras.RateLimit
		return fmt.Sprintf("%d requests at first, %d more every %s", limit.Max, limit.Fill, limit.Interval)
	case field == "buffer" && extras.BufferBytes > 0:
		return fmt.Sprintf("requests over %d bytes are answered with 413", extras.BufferBytes)
	case field == "retry" && extras.Retry != nil:
		return retryWords(extras.Retry)
	case field == "headerModifiers":
		return strings.TrimPrefix(modsWords(extras.RequestHeaders)+"; answers: "+modsWords(extras.ResponseHeaders), "; ")
	}
	return extensionWords(field, extras)
}

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
		pattern, err := regexp.Compile(`^(?:` + m.Value + `)$`)
		return err == nil && pattern.MatchString(text)
	}
	return text == value
}
