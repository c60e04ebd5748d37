package route

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// redirect sets a.action.Redirect from the filter RequestRedirect. The default status is 302.
func redirect(a *actionBuilder, _ string, f *gwv1.HTTPRouteFilter) bool {
	from := f.RequestRedirect
	to := &ir.Redirect{Status: 302, Scheme: api.Text(from.Scheme)}
	if from.Hostname != nil {
		to.Hostname = string(*from.Hostname)
	}
	if from.StatusCode != nil {
		to.Status = uint32(*from.StatusCode)
	}
	to.Path = pathChange(from.Path)
	a.setPort(to, from.Port)
	a.action.Redirect = to
	return true
}

// setPort sets the port of the Location header: the parameter explicit, which is the filter's port. Without one it is the
// well-known port of the filter's scheme. If the filter has neither, it is the listener's port. A port that is the
// well-known port of the Location's scheme is not written (Gateway API, HTTPRequestRedirectFilter.port: "whether that
// is determined via the Listener protocol or the Scheme field"). The port of the request's Host has no influence.
func (b *builder) setPort(to *ir.Redirect, explicit *gwv1.PortNumber) {
	schemes := b.schemes
	to.Port = b.port
	if to.Scheme != "" {
		schemes = []string{to.Scheme}
		to.Port = map[string]uint32{"http": 80, "https": 443}[to.Scheme]
	}
	if explicit != nil {
		to.Port = uint32(*explicit)
	}
	usual := map[uint32]string{80: "http", 443: "https"}[to.Port]
	switch {
	case !slices.Contains(schemes, usual):
	case len(schemes) > 1:
		to.PortLess, to.PortLessIn = true, usual
	case to.Hostname != "":
		to.Port = 0
	default:
		to.PortLess = true
	}
}
