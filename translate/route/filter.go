package route

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// applyFilter puts one filter into the action below construction; ok is false
// when requests must not pass without it.
type applyFilter func(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) (ok bool)

// ruleFilters is the table of filters that a rule can have.
func ruleFilters(kind gwv1.HTTPRouteFilterType) applyFilter {
	switch kind {
	case gwv1.HTTPRouteFilterRequestHeaderModifier:
		return requestHeaders
	case gwv1.HTTPRouteFilterResponseHeaderModifier:
		return responseHeaders
	case gwv1.HTTPRouteFilterRequestRedirect:
		return redirect
	case gwv1.HTTPRouteFilterURLRewrite:
		return rewrite
	case gwv1.HTTPRouteFilterRequestMirror:
		return mirror
	case gwv1.HTTPRouteFilterCORS:
		return cors
	case gwv1.HTTPRouteFilterExtensionRef:
		return extensionRef
	}
	return nil
}

// backendFilters is the table of filters that a backendRef can have.
func backendFilters(kind gwv1.HTTPRouteFilterType) applyFilter {
	switch kind {
	case gwv1.HTTPRouteFilterRequestHeaderModifier:
		return requestHeaders
	case gwv1.HTTPRouteFilterResponseHeaderModifier:
		return responseHeaders
	case gwv1.HTTPRouteFilterURLRewrite:
		return rewrite
	}
	return nil
}

// filters applies all filters of a list. A filter that is not known is never
// skipped: ok is false, and requests answer 500 (Gateway API,
// HTTPRouteRule.filters).
func (a *actionBuilder) filters(field string, list []gwv1.HTTPRouteFilter, table func(gwv1.HTTPRouteFilterType) applyFilter) (ok bool) {
	ok = true
	for i := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		apply := table(list[i].Type)
		if apply == nil {
			a.unsupported(at+".type", fmt.Sprintf("filter type %s here", list[i].Type))
			ok = false
			continue
		}
		a.part(string(list[i].Type), at)
		ok = apply(a, at, &list[i]) && ok
	}
	return ok
}

// part notes where a part of the action is read from.
func (a *actionBuilder) part(kind, field string) {
	a.action.Parts = append(a.action.Parts, ir.Part{Kind: kind, Object: a.origin.Key, Field: field})
}

func requestHeaders(a *actionBuilder, _ string, f *gwv1.HTTPRouteFilter) bool {
	a.action.RequestHeaders = headerMods(f.RequestHeaderModifier)
	return true
}

func responseHeaders(a *actionBuilder, _ string, f *gwv1.HTTPRouteFilter) bool {
	a.action.ResponseHeaders = headerMods(f.ResponseHeaderModifier)
	return true
}

func headerMods(f *gwv1.HTTPHeaderFilter) *ir.HeaderMods {
	return &ir.HeaderMods{Set: headers(f.Set), Add: headers(f.Add), Remove: f.Remove}
}

func headers(list []gwv1.HTTPHeader) []ir.Header {
	var out []ir.Header
	for _, h := range list {
		out = append(out, ir.Header{Name: string(h.Name), Value: h.Value})
	}
	return out
}

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
	to.Port, to.PortLess = redirectPort(from, a.port)
	a.action.Redirect = to
	return true
}

// redirectPort gives the port to write into the Location, 0 for none. A missing
// one is the well-known port of the scheme if that is written, else the
// listener's (Gateway API, HTTPRequestRedirectFilter.port). A well-known port is
// left out, as the same comment asks. Where the host name stays, and clients come with a
// port of their own, hidden says that Envoy has to be told of it.
func redirectPort(f *gwv1.HTTPRequestRedirectFilter, listener uint32) (port uint32, hidden bool) {
	scheme := api.Text(f.Scheme)
	wellKnown := map[string]uint32{"": 80, "http": 80, "https": 443}[scheme]
	port = listener
	if scheme == "" && listener == 443 { // the scheme stays, and nobody speaks HTTP there
		wellKnown = 443
	}
	switch {
	case f.Port != nil:
		port = uint32(*f.Port)
	case scheme != "":
		port = wellKnown
	}
	switch {
	case port != wellKnown:
		return port, false
	case f.Hostname != nil || listener == 80 || listener == 443:
		return 0, false
	}
	return port, true
}

func rewrite(a *actionBuilder, _ string, f *gwv1.HTTPRouteFilter) bool {
	to := &ir.Rewrite{Path: pathChange(f.URLRewrite.Path)}
	if f.URLRewrite.Hostname != nil {
		to.Hostname = string(*f.URLRewrite.Hostname)
	}
	a.action.Rewrite = to
	return true
}

// pathChange copies a path modifier. The schema admits a prefix replacement
// only beside a PathPrefix match.
func pathChange(p *gwv1.HTTPPathModifier) *ir.PathChange {
	switch {
	case p == nil:
		return nil
	case p.Type == gwv1.FullPathHTTPPathModifier:
		return &ir.PathChange{Full: true, Value: api.Text(p.ReplaceFullPath)}
	}
	return &ir.PathChange{Value: trimSlash(api.Text(p.ReplacePrefixMatch))}
}

// mirror copies requests; a mirror that leads nowhere is left out and reported
// (Gateway API, HTTPRequestMirrorFilter.backendRef).
func mirror(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) bool {
	cluster, _ := a.cluster(field+".requestMirror.backendRef", f.RequestMirror.BackendRef)
	if cluster == "" {
		return true
	}
	to := ir.Mirror{Cluster: cluster, Numerator: 100, Denominator: 100}
	if f.RequestMirror.Percent != nil {
		to.Numerator = uint32(*f.RequestMirror.Percent)
	}
	if fraction := f.RequestMirror.Fraction; fraction != nil {
		to.Numerator, to.Denominator = uint32(fraction.Numerator), 100
		if fraction.Denominator != nil {
			to.Denominator = uint32(*fraction.Denominator)
		}
	}
	a.action.Mirrors = append(a.action.Mirrors, to)
	return true
}

// cors answers every preflight request, those of other origins without allowing
// them (Gateway API, HTTPCORSFilter.allowOrigins).
func cors(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) bool {
	to, problems := policy.CORS(field+".cors", f.CORS)
	for _, p := range problems {
		a.problem(p.Severity, p.Code, p.Field, p.Message, p.Hint)
	}
	to.Alone = true
	a.action.CORS = to
	return true
}

// IsTrafficPolicy tells whether a rule names a TrafficPolicy of its namespace.
func IsTrafficPolicy(ref *gwv1.LocalObjectReference) bool {
	return ref.Group == api.Group && ref.Kind == api.KindTrafficPolicy
}

// extensionRef takes what the policies of the rule see to; the rules of package
// translate close it when the policy is missing.
func extensionRef(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) bool {
	if IsTrafficPolicy(f.ExtensionRef) {
		return true
	}
	a.unsupported(field+".type", "filter type ExtensionRef here")
	return false
}
