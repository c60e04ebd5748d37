package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// readFilter sets the fields of a.action for a filter (the parameter f). The parameter field is the path of the
// filter. The result ok is false if the filter cannot be applied, so that requests must fail.
type readFilter func(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) (ok bool)

// part describes how gatefold handles one kind of setting of a rule: a type of filter, or a field such as
// timeouts. It says how the setting is read, and how the rules of child routes inherit the setting.
type part struct {
	// kind is the Kind of the ir.Part: the type of the filter, or a constant for a field.
	kind string
	// field is the field of policies for the same setting, "" if there is none (see Level.prefers).
	field ir.Field
	// read reads the filter. It is nil for fields of the rule, which actionBuilder.timeouts reads.
	read readFilter
	// onBackends is true if a backendRef can have the filter, too.
	onBackends bool
	// inherit merges the settings of the two actions in m: of the rule itself (m.below) and of the delegating rule
	// (m.above). It writes the result into out, which is a copy of m.below at first. inherit is nil if rules of child
	// routes do not inherit the setting.
	inherit func(out *ir.Action, m merge)
	// shows reports whether out, the merged action, uses the setting of m.second, the action that is not preferred.
	// shows is nil if the setting of m.second is always effective.
	shows func(out *ir.Action, m merge) bool
	// conflicts reports whether an included child must not have the filter, because the parent's rule has the same
	// filter (docs/design/routes.md). It is nil if the filter never conflicts.
	conflicts func(parent *ir.Action) bool
	// features are the Gateway API features that the part implements. A test case proves each feature.
	features []features.FeatureName
}

// merge has the two actions that are merged for a rule that another rule delegates to.
type merge struct {
	below, above  *ir.Action // of the rule itself, and of the delegating rule
	first, second *ir.Action // the same two actions: the preferred one, and the other one
}

// parts returns a table with one row (a part) for each filter type that gatefold supports, and for timeouts and
// retry.
func parts() []part {
	return []part{
		{
			kind: string(gwv1.HTTPRouteFilterRequestHeaderModifier), read: requestHeaders, onBackends: true,
			inherit: func(out *ir.Action, m merge) {
				out.RequestHeaders = m.second.RequestHeaders.Then(m.first.RequestHeaders)
			},
			features: []features.FeatureName{features.SupportHTTPRouteBackendRequestHeaderModification},
		},
		{
			kind: string(gwv1.HTTPRouteFilterResponseHeaderModifier), read: responseHeaders, onBackends: true,
			inherit: func(out *ir.Action, m merge) {
				out.ResponseHeaders = m.second.ResponseHeaders.Then(m.first.ResponseHeaders)
			},
			features: []features.FeatureName{features.SupportHTTPRouteResponseHeaderModification},
		},
		{
			kind: string(gwv1.HTTPRouteFilterRequestRedirect), read: redirect,
			features: []features.FeatureName{
				features.SupportHTTPRoute303RedirectStatusCode, features.SupportHTTPRoute307RedirectStatusCode,
				features.SupportHTTPRoute308RedirectStatusCode, features.SupportHTTPRoutePathRedirect,
				features.SupportHTTPRoutePortRedirect, features.SupportHTTPRouteSchemeRedirect,
			},
		},
		{
			kind: string(gwv1.HTTPRouteFilterURLRewrite), read: rewrite, onBackends: true,
			inherit: inheritRewrite, shows: showsRewrite,
			conflicts: func(parent *ir.Action) bool { return parent.Rewrite != nil },
			features:  []features.FeatureName{features.SupportHTTPRouteHostRewrite, features.SupportHTTPRoutePathRewrite},
		},
		{
			kind: string(gwv1.HTTPRouteFilterRequestMirror), read: mirror,
			inherit: func(out *ir.Action, m merge) { out.Mirrors = slices.Concat(m.below.Mirrors, m.above.Mirrors) },
			features: []features.FeatureName{
				features.SupportHTTPRouteRequestMirror, features.SupportHTTPRouteRequestMultipleMirrors,
				features.SupportHTTPRouteRequestPercentageMirror,
			},
		},
		{
			kind: string(gwv1.HTTPRouteFilterCORS), read: cors, field: ir.FieldCORS,
			inherit:   func(out *ir.Action, m merge) { out.CORS = cmp.Or(m.first.CORS, m.second.CORS) },
			shows:     func(_ *ir.Action, m merge) bool { return m.first.CORS == nil },
			conflicts: func(parent *ir.Action) bool { return parent.CORS != nil },
			features:  []features.FeatureName{features.SupportHTTPRouteCORS},
		},
		{
			kind: ir.PartExternalAuth, read: externalAuth, field: ir.FieldExtAuth,
			inherit:   func(out *ir.Action, m merge) { out.ExternalAuth = cmp.Or(m.first.ExternalAuth, m.second.ExternalAuth) },
			shows:     func(_ *ir.Action, m merge) bool { return m.first.ExternalAuth == nil },
			conflicts: func(parent *ir.Action) bool { return parent.ExternalAuth != nil },
		},
		{kind: string(gwv1.HTTPRouteFilterExtensionRef), read: extensionRef},
		{
			kind: ir.PartTimeouts, inherit: inheritTimeouts, shows: showsTimeouts,
			features: []features.FeatureName{features.SupportHTTPRouteBackendTimeout, features.SupportHTTPRouteRequestTimeout},
		},
		{
			kind:    ir.PartRetry,
			inherit: func(out *ir.Action, m merge) { out.Retry = cmp.Or(m.first.Retry, m.second.Retry) },
			shows:   func(_ *ir.Action, m merge) bool { return m.first.Retry == nil },
			features: []features.FeatureName{
				features.SupportHTTPRouteRetry, features.SupportHTTPRouteRetryBackendTimeout, features.SupportHTTPRouteRetryConnectionError,
			},
		},
	}
}

// Features returns the Gateway API features that the filters, timeouts and retry of rules implement.
func Features() (names []features.FeatureName) {
	for _, p := range parts() {
		names = append(names, p.features...)
	}
	return names
}

// partOf returns the row of the table parts that describes the given kind of setting, a zero part if no row has this
// kind.
func partOf(kind string) part {
	for _, p := range parts() {
		if p.kind == kind {
			return p
		}
	}
	return part{}
}

// onRule returns the function that reads a filter of a rule. It returns nil if gatefold does not support the
// filter.
func onRule(kind gwv1.HTTPRouteFilterType) readFilter {
	return partOf(string(kind)).read
}

// onBackend returns the function that reads a filter of a backendRef. It returns nil if gatefold does not
// support the filter there.
func onBackend(kind gwv1.HTTPRouteFilterType) readFilter {
	if row := partOf(string(kind)); row.onBackends {
		return row.read
	}
	return nil
}

// filters applies a list of filters to a.action. The parameter field is the path of the list. The function served
// returns the readFilter of a filter type, or nil if the type is not supported. The result ok is false if a filter
// cannot be applied: the caller must then let requests fail, because a filter is never skipped (Gateway API,
// HTTPRouteRule.filters).
func (a *actionBuilder) filters(field string, list []gwv1.HTTPRouteFilter, served func(gwv1.HTTPRouteFilterType) readFilter) (ok bool) {
	ok = true
	for i := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		read := served(list[i].Type)
		if read == nil {
			a.unservedFilter(at, &list[i])
			a.reportOnly(func(unused *actionBuilder) { unused.filterIsRead(at, &list[i]) })
			ok = false
			continue
		}
		a.part(string(list[i].Type), at)
		ok = read(a, at, &list[i]) && ok
	}
	return ok
}

// filterIsRead reads a filter that is not supported where it is, for the problems of its references. It ignores a filter
// that is supported nowhere.
func (a *actionBuilder) filterIsRead(at string, f *gwv1.HTTPRouteFilter) {
	if read := onRule(f.Type); read != nil && f.Type != gwv1.HTTPRouteFilterExtensionRef {
		read(a, at, f)
	}
}

// reportOnly calls read with an actionBuilder whose action and backends are not used. It reports the errors of what does
// not get requests in any case: a setting that cannot be served never hides another mistake.
func (b *builder) reportOnly(read func(unused *actionBuilder)) {
	backends, problems := slices.Clip(b.flat.Backends), slices.Clip(b.flat.Problems)
	read(&actionBuilder{builder: b})
	for _, p := range b.flat.Problems[len(problems):] {
		if p.Severity == manifest.Error {
			problems = append(problems, p)
		}
	}
	b.flat.Backends, b.flat.Problems = backends, problems
}

// unservedFilter reports a filter that gatefold does not support on a rule, or on a backendRef. The parameter at is the
// path of the filter, which says where the filter is.
func (a *actionBuilder) unservedFilter(at string, f *gwv1.HTTPRouteFilter) {
	field := at + ".type"
	rule, _, ofBackend := strings.Cut(field, ".backendRefs[")
	switch {
	case f.Type == gwv1.HTTPRouteFilterExtensionRef && !IsTrafficPolicy(f.ExtensionRef):
		a.foreignFilter(at+".extensionRef", f.ExtensionRef)
		return
	case !ofBackend || onRule(f.Type) == nil:
		a.unsupported(field, fmt.Sprintf("filter type %s here", f.Type))
		return
	}
	message := fmt.Sprintf("filter type %s is not supported for a backendRef", f.Type)
	a.problem(manifest.Error, codeUnsupported, field, message,
		"requests to this backend answer 500: write the filter into "+rule+".filters, where it is for all backends of the rule")
	a.flat.Unserved(field + ": " + message)
}

// part records in a.action.Parts that a field of the route sets something of the given kind (see ir.Part). The
// parameter field is the path of the field, and the parameter kind is for example the filter type CORS.
func (a *actionBuilder) part(kind, field string) {
	a.action.Parts = append(a.action.Parts, ir.Part{Kind: kind, Object: a.origin.Key, Field: field})
}

// requestHeaders sets a.action.RequestHeaders from the filter RequestHeaderModifier.
func requestHeaders(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) bool {
	a.action.RequestHeaders = a.headerMods(field+".requestHeaderModifier", f.RequestHeaderModifier)
	return true
}

// responseHeaders sets a.action.ResponseHeaders from the filter ResponseHeaderModifier.
func responseHeaders(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) bool {
	a.action.ResponseHeaders = a.headerMods(field+".responseHeaderModifier", f.ResponseHeaderModifier)
	return true
}

// headerMods converts header changes. It warns of headers that have several entries. The parameter field is the path of
// the changes.
func (a *actionBuilder) headerMods(field string, f *gwv1.HTTPHeaderFilter) *ir.HeaderMods {
	mods := &ir.HeaderMods{Set: headers(f.Set), Add: headers(f.Add), Remove: f.Remove}
	for _, p := range policy.OneEntryEach(field, mods) {
		a.problem(p.Severity, p.Code, p.Field, p.Message, p.Hint)
	}
	return mods
}

func headers(list []gwv1.HTTPHeader) []ir.Header {
	var out []ir.Header
	for _, h := range list {
		out = append(out, ir.Header{Name: string(h.Name), Value: h.Value})
	}
	return out
}

// rewrite sets a.action.Rewrite from the filter URLRewrite.
func rewrite(a *actionBuilder, _ string, f *gwv1.HTTPRouteFilter) bool {
	to := &ir.Rewrite{Path: pathChange(f.URLRewrite.Path)}
	if f.URLRewrite.Hostname != nil {
		to.Hostname = string(*f.URLRewrite.Hostname)
	}
	a.action.Rewrite = to
	return true
}

// inheritRewrite merges the URLRewrite of a rule with that of the delegating rule above, and writes the result to the
// parameter out. Hostname and path are merged separately: each comes from the preferred rule (m.first) if that rule
// sets it, and from the other rule (m.second) if it does not. If the lower rule (m.below) redirects, inheritRewrite
// changes nothing.
func inheritRewrite(out *ir.Action, m merge) {
	if m.below.Redirect != nil {
		return
	}
	first, second := m.first.Rewrite, m.second.Rewrite
	if first == nil || second == nil {
		out.Rewrite = cmp.Or(first, second)
		return
	}
	out.Rewrite = &ir.Rewrite{Hostname: cmp.Or(first.Hostname, second.Hostname), Path: cmp.Or(first.Path, second.Path)}
}

// showsRewrite reports whether the merged rewrite (in the parameter out) took its hostname or its path from m.second,
// the action of the rule that is not preferred.
func showsRewrite(out *ir.Action, m merge) bool {
	return out.Rewrite != nil && (m.first.Rewrite == nil || *out.Rewrite != *m.first.Rewrite)
}

// newPath returns a new path with its spaces and tabs as a URL has them. With them as they are, Envoy would send a request
// line that no backend can read.
func newPath(text *string) string {
	return strings.NewReplacer(" ", "%20", "\t", "%09").Replace(api.Text(text))
}

// pathChange converts a path modifier. It returns nil for nil. The schema allows ReplacePrefixMatch only with a
// PathPrefix match.
func pathChange(p *gwv1.HTTPPathModifier) *ir.PathChange {
	switch {
	case p == nil:
		return nil
	case p.Type == gwv1.FullPathHTTPPathModifier:
		return &ir.PathChange{Full: true, Value: cmp.Or(newPath(p.ReplaceFullPath), "/")}
	}
	return &ir.PathChange{Value: trimSlash(newPath(p.ReplacePrefixMatch))}
}

// cors sets a.action.CORS from the filter CORS. Envoy then answers every preflight request. For an origin that is not
// allowed, the answer has no Access-Control-Allow-Origin (Gateway API, HTTPCORSFilter.allowOrigins).
func cors(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) bool {
	to, problems := policy.CORS(field+".cors", f.CORS)
	for _, p := range problems {
		a.problem(p.Severity, p.Code, p.Field, p.Message, p.Hint)
	}
	to.Alone = true
	a.action.CORS = to
	return true
}

// inheritTimeouts merges the timeouts of a rule with those of the delegating rule above, and writes the result to the
// parameter out. The request timeout and the backend timeout are merged separately: each comes from the preferred
// rule (m.first) if that rule sets it, and from the other rule (m.second) if it does not.
func inheritTimeouts(out *ir.Action, m merge) {
	out.RequestTimeout = cmp.Or(m.first.RequestTimeout, m.second.RequestTimeout)
	out.BackendTimeout = cmp.Or(m.first.BackendTimeout, m.second.BackendTimeout)
}

// showsTimeouts reports whether a merged timeout (in the parameter out) comes from the rule that is not preferred
// (m.second).
func showsTimeouts(out *ir.Action, m merge) bool {
	return out.RequestTimeout != m.first.RequestTimeout || out.BackendTimeout != m.first.BackendTimeout
}

// below returns a copy of a rule's action for one of the rule's matches. The parameter path is the path of that
// match. For a regular expression below a parent's prefix, the parameter path is the parent's prefix (see newRule).
// If a redirect or rewrite of the action replaces a path prefix, below sets path as the prefix that it replaces
// (PathChange.Of).
func below(action ir.Action, path ir.Path) ir.Action {
	if r := action.Redirect; r != nil && r.Path != nil {
		copied := *r
		copied.Path = r.Path.Of(path)
		action.Redirect = &copied
	}
	if r := action.Rewrite; r != nil && r.Path != nil {
		copied := *r
		copied.Path = r.Path.Of(path)
		action.Rewrite = &copied
	}
	return action
}

// grpcFilters returns the filters of a GRPCRoute as filters of an HTTPRoute.
func grpcFilters(list []gwv1.GRPCRouteFilter) []gwv1.HTTPRouteFilter {
	var out []gwv1.HTTPRouteFilter
	for _, f := range list {
		out = append(out, gwv1.HTTPRouteFilter{
			Type: gwv1.HTTPRouteFilterType(f.Type), RequestHeaderModifier: f.RequestHeaderModifier,
			ResponseHeaderModifier: f.ResponseHeaderModifier, RequestMirror: f.RequestMirror, ExtensionRef: f.ExtensionRef,
		})
	}
	return out
}
