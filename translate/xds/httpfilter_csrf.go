package xds

import (
	csrfv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/csrf/v3"

	"github.com/gatefold/gatefold/translate/ir"
)

type csrfFilter struct{}

func (csrfFilter) Name() string { return "envoy.filters.http.csrf" }

func (csrfFilter) Field() ir.Field { return ir.FieldCSRF }

func (csrfFilter) Chain() message { return &csrfv3.CsrfPolicy{FilterEnabled: percentage(0)} }

func (csrfFilter) Route(extras *ir.Extras) message {
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
