package xds

import (
	"fmt"

	csrfv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/csrf/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

// csrfFilter returns the HTTP filter for the policy field csrf.
func csrfFilter() httpFilter {
	return httpFilter{name: "envoy.filters.http.csrf", chain: csrfOff, route: csrfPolicy}
}

// csrfOff returns the configuration of csrfFilter in the filter chain of the listener. With it, the filter checks no
// request.
func csrfOff() message { return &csrfv3.CsrfPolicy{FilterEnabled: percentage(0)} }

// csrfPolicy returns the configuration of csrfFilter, or nil without csrf.
func csrfPolicy(extras *ir.Extras) message {
	csrf := extras.CSRF
	if csrf == nil {
		return nil
	}
	return &csrfv3.CsrfPolicy{
		FilterEnabled:     percentage(csrf.Enabled),
		ShadowEnabled:     percentage(csrf.Shadowed),
		AdditionalOrigins: stringMatchers(csrf.Origins),
	}
}

// checkCSRF rejects what Envoy would reject in csrf.
func checkCSRF(c *checker, extras *ir.Extras) {
	if extras.CSRF != nil {
		c.matches(ir.FieldCSRF.Path()+".additionalOrigins", extras.CSRF.Origins)
	}
}

// matches rejects invalid texts and regular expressions in a list of matches. The parameter at is the path of the
// list.
func (c *checker) matches(at string, list []ir.StringMatch) {
	for i, match := range list {
		field := fmt.Sprintf("%s[%d]", at, i)
		if match.Kind == ir.StringRegex {
			c.regex(field+".safeRegex", match.Value)
		} else {
			c.text(field, match.Value)
		}
	}
}
