package policy

import (
	"slices"
	"sync"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate/ir"
)

// Field is one field of TrafficPolicies, with the functions that read and merge it. Fields are merged
// independently of each other.
type Field struct {
	Name ir.Field
	// has reports whether a spec sets the field. The other functions for specs are called only if has returns
	// true.
	has func(*api.TrafficPolicySpec) bool
	// take copies the field from one spec into another. Both specs then share the value, which never changes.
	take func(into, from *api.TrafficPolicySpec)
	// lower converts the field of a spec and sets the result in the Extras. It sets nothing if the field is only
	// turned off. The problems name fields, but not the object.
	lower func(*api.TrafficPolicySpec, *ir.Extras) []manifest.Problem
	// join combines the values of the field in two specs, the parameters first and last. It stores the result in a
	// third spec, the parameter into. If the values contradict each other, the value in last wins. join is called for
	// deep strategies (see Strategy). It is nil if the values cannot be combined.
	join func(into, first, last *api.TrafficPolicySpec)
	// confine replaces join where the parent's values are preferred (DeepMergePreferParent). It combines the values of
	// the parent and the child so that only requests pass that both let pass. It stores the result in into. It is nil
	// if join cannot weaken what the parent demands.
	confine func(into, parent, child *api.TrafficPolicySpec)
	// protects is set if the field can keep requests away from backends, as authorization does. Loosened reports
	// policies of child routes that weaken such a field.
	protects protection
	// inNamespace sets the namespace of references that have none, on a copy of the value. It is nil if the field
	// has no references.
	inNamespace func(spec *api.TrafficPolicySpec, namespace string)
	// routeHas reports whether a route itself sets what the field sets, by a filter or by a field of its rule. The
	// route then takes precedence over policies. It is nil if a route cannot do that.
	routeHas func(*ir.Action) bool
	// filter is the type of the filter that sets it, and drop removes that filter from an action, because policies of a
	// parent win. They are unset for what only other fields of a rule set.
	filter string
	drop   func(*ir.Action)
	// streams is true if the field also applies to connections and datagrams.
	streams bool
}

// Fields returns the fields of TrafficPolicies, in the order in which they are shown. They are shared: do not
// change them.
func Fields() []Field { return fields() }

var fields = sync.OnceValue(func() []Field {
	return []Field{
		{
			Name: ir.FieldTransformation, lower: lowerTransformation, join: joinTransformations,
			has:  func(s *api.TrafficPolicySpec) bool { return s.Transformation != nil },
			take: func(into, from *api.TrafficPolicySpec) { into.Transformation = from.Transformation },
		},
		{
			Name: ir.FieldACL, lower: lowerACL, join: joinACLs, confine: confineACL,
			has:      func(s *api.TrafficPolicySpec) bool { return s.ACL != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.ACL = from.ACL },
			protects: protection{off: aclOff, replaced: true},
			streams:  true,
		},
		{
			Name: ir.FieldRBAC, lower: lowerRBAC,
			has:      func(s *api.TrafficPolicySpec) bool { return s.RBAC != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.RBAC = from.RBAC },
			protects: protection{off: rbacOff, replaced: true},
		},
		{
			Name: ir.FieldExtAuth, lower: lowerExtAuth, inNamespace: extAuthIn,
			has:      func(s *api.TrafficPolicySpec) bool { return s.ExtAuth != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.ExtAuth = from.ExtAuth },
			protects: protection{off: extAuthOff, replaced: true},
			routeHas: func(a *ir.Action) bool { return a.ExternalAuth != nil },
			filter:   ir.PartExternalAuth,
			drop:     func(a *ir.Action) { a.ExternalAuth = nil },
		},
		{
			Name: ir.FieldExtProc, lower: lowerExtProc, inNamespace: extProcIn,
			has:      func(s *api.TrafficPolicySpec) bool { return s.ExtProc != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.ExtProc = from.ExtProc },
			protects: protection{off: extProcOff},
		},
		{
			Name: ir.FieldBasicAuth, lower: lowerBasicAuth, inNamespace: basicAuthIn,
			has:      func(s *api.TrafficPolicySpec) bool { return s.BasicAuth != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.BasicAuth = from.BasicAuth },
			protects: protection{off: basicAuthOff, replaced: true},
		},
		{
			Name: ir.FieldAPIKeyAuth, lower: lowerAPIKeyAuth, inNamespace: apiKeyAuthIn,
			has:      func(s *api.TrafficPolicySpec) bool { return s.APIKeyAuth != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.APIKeyAuth = from.APIKeyAuth },
			protects: protection{off: apiKeyAuthOff, replaced: true},
		},
		{
			Name: ir.FieldOAuth2, lower: lowerOAuth2, inNamespace: oauth2In,
			has:      func(s *api.TrafficPolicySpec) bool { return s.OAuth2 != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.OAuth2 = from.OAuth2 },
			protects: protection{off: never, replaced: true},
		},
		{
			Name: ir.FieldJWTAuth, lower: lowerJWTAuth, inNamespace: jwtAuthIn,
			has:      func(s *api.TrafficPolicySpec) bool { return s.JWTAuth != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.JWTAuth = from.JWTAuth },
			protects: protection{off: jwtAuthOff, replaced: true},
		},
		{
			Name: ir.FieldLocalRateLimit, lower: lowerLocalRateLimit,
			has:      func(s *api.TrafficPolicySpec) bool { return s.RateLimit != nil && s.RateLimit.Local != nil },
			take:     takeLocalRateLimit,
			protects: protection{off: localRateLimitOff},
		},
		{
			Name: ir.FieldGlobalRateLimit, lower: lowerGlobalRateLimit, inNamespace: globalRateLimitIn,
			has:      func(s *api.TrafficPolicySpec) bool { return s.RateLimit != nil && s.RateLimit.Global != nil },
			take:     takeGlobalRateLimit,
			protects: protection{off: never},
		},
		{
			Name: ir.FieldCORS, lower: lowerCORS,
			has:      func(s *api.TrafficPolicySpec) bool { return s.CORS != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.CORS = from.CORS },
			protects: protection{off: never, silent: true},
			routeHas: func(a *ir.Action) bool { return a.CORS != nil },
			filter:   string(gwv1.HTTPRouteFilterCORS),
			drop:     func(a *ir.Action) { a.CORS = nil },
		},
		{
			Name: ir.FieldCSRF, lower: lowerCSRF,
			has:      func(s *api.TrafficPolicySpec) bool { return s.CSRF != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.CSRF = from.CSRF },
			protects: protection{off: csrfOff, replaced: true},
		},
		{
			Name: ir.FieldBuffer, lower: lowerBuffer,
			has:      func(s *api.TrafficPolicySpec) bool { return s.Buffer != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.Buffer = from.Buffer },
			protects: protection{off: bufferOff},
		},
		{
			Name: ir.FieldHeaderModifiers, lower: lowerHeaderModifiers,
			has:  func(s *api.TrafficPolicySpec) bool { return s.HeaderModifiers != nil },
			take: func(into, from *api.TrafficPolicySpec) { into.HeaderModifiers = from.HeaderModifiers },
		},
		{
			Name: ir.FieldAutoHostRewrite, lower: lowerAutoHostRewrite,
			has:      func(s *api.TrafficPolicySpec) bool { return s.AutoHostRewrite != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.AutoHostRewrite = from.AutoHostRewrite },
			routeHas: func(a *ir.Action) bool { return a.Rewrite != nil && a.Rewrite.Hostname != "" },
		},
		{
			Name: ir.FieldTimeouts, lower: lowerTimeouts,
			has:      func(s *api.TrafficPolicySpec) bool { return s.Timeouts != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.Timeouts = from.Timeouts },
			routeHas: func(a *ir.Action) bool { return a.RequestTimeout != nil && a.Extras.OrNone().IdleTimeout == nil },
		},
		{
			Name: ir.FieldRetry, lower: lowerRetry,
			has:      func(s *api.TrafficPolicySpec) bool { return s.Retry != nil },
			take:     func(into, from *api.TrafficPolicySpec) { into.Retry = from.Retry },
			routeHas: func(a *ir.Action) bool { return a.Retry != nil },
		},
		{
			Name: ir.FieldHashPolicies, lower: lowerHashPolicies,
			has:  func(s *api.TrafficPolicySpec) bool { return len(s.HashPolicies) > 0 },
			take: func(into, from *api.TrafficPolicySpec) { into.HashPolicies = from.HashPolicies },
		},
	}
})

// RouteHas reports whether a route itself, in a filter or field of its rule, makes the same setting as a field of
// policies. The parameter name is the name of the policy field. If the result is true, the route's setting takes
// precedence over every policy.
func RouteHas(action *ir.Action, name ir.Field) bool {
	return slices.ContainsFunc(Fields(), func(f Field) bool {
		return f.Name == name && f.routeHas != nil && f.routeHas(action)
	})
}

// FilterOf returns the type of the filter of routes that makes the same setting as a field of policies, "" if there
// is none.
func FilterOf(name ir.Field) string { return fieldNamed(name).filter }

// DropFilter removes the filter FilterOf from an action, because policies of a parent win over it.
func DropFilter(action *ir.Action, name ir.Field) {
	field := fieldNamed(name)
	field.drop(action)
	action.Parts = slices.DeleteFunc(slices.Clone(action.Parts), func(p ir.Part) bool { return p.Kind == field.filter })
}

// Sets reports whether a spec sets a field, and not only turns it off.
func Sets(spec *api.TrafficPolicySpec, name ir.Field) bool {
	field := fieldNamed(name)
	return field.has(spec) && (field.protects.off == nil || !field.protects.off(spec))
}

// Protects reports whether a policy may protect what it is for: whether it sets a field other than autoHostRewrite,
// headerModifiers, retry and timeouts.
func Protects(spec *api.TrafficPolicySpec) bool {
	return slices.ContainsFunc(Fields(), func(f Field) bool {
		switch f.Name {
		case ir.FieldAutoHostRewrite, ir.FieldHeaderModifiers, ir.FieldRetry, ir.FieldTimeouts:
			return false
		}
		return f.has(spec)
	})
}

// Outcome is the result of merging one field of two specs (parent and child): it says which spec the merged value
// comes from.
type Outcome uint8

// The values of Outcome.
const (
	Kept   Outcome = iota // the merged value is the child's value, or the field is set in neither spec
	Taken                 // the merged value is the parent's value
	Joined                // the merged value combines the values of both specs
)

// merge merges this field of two specs by the strategy s. The parameter from is the spec of the parent's level,
// and the parameter into is the spec of the child's level. merge stores the merged value in the child's spec. The
// Outcome says which of the two specs the value comes from.
func (f *Field) merge(into, from *api.TrafficPolicySpec, s Strategy) Outcome {
	if !f.has(from) {
		return Kept
	}
	outcome := Taken
	if f.has(into) {
		outcome = f.outcome(s)
	}
	switch {
	case outcome == Taken:
		f.take(into, from)
	case outcome == Joined && !s.Prefers(f.Name):
		f.join(into, from, into)
	case outcome == Joined && f.confine != nil:
		f.confine(into, from, into)
	case outcome == Joined:
		f.join(into, into, from)
	}
	return outcome
}

// outcome returns the Outcome of a merge by the strategy s, if both the parent and the child set the field.
func (f *Field) outcome(s Strategy) Outcome {
	switch {
	case s.deep() && f.join != nil:
		return Joined
	case s.Prefers(f.Name):
		return Taken
	}
	return Kept
}

// bufferOff reports whether the field buffer only turns the buffer off.
func bufferOff(s *api.TrafficPolicySpec) bool { return s.Buffer.MaxRequestSize == nil }

// lowerBuffer converts the policy field buffer (see Field.lower).
func lowerBuffer(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	if size := from.Buffer.MaxRequestSize; size != nil { // from 1 to 4 GiB - 1, by the schema
		extras.BufferBytes = uint32(size.Value())
	}
	return nil
}

// lowerAutoHostRewrite converts the policy field autoHostRewrite (see Field.lower).
func lowerAutoHostRewrite(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	extras.AutoHost = *from.AutoHostRewrite
	return nil
}

// lowerTimeouts converts the policy field timeouts (see Field.lower).
func lowerTimeouts(from *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	extras.RequestTimeout = api.ParseDuration(from.Timeouts.Request)
	extras.IdleTimeout = api.ParseDuration(from.Timeouts.StreamIdle)
	return nil
}

// notServed returns the problem of a field that kgateway has and gatefold does not serve.
func notServed(field, what, hint string) manifest.Problem {
	return manifest.Problem{
		Code: schema.NotServed, Severity: manifest.Error, Field: field,
		Message: "kgateway has " + what + "; gatefold does not serve it", Hint: hint,
	}
}

// warning returns the warning that a field has no effect.
func warning(field, message, hint string) manifest.Problem {
	return manifest.Problem{Code: "NoEffect", Severity: manifest.Warning, Field: field, Message: message, Hint: hint}
}

// number converts *p to uint32. If p is nil, it returns the parameter unset.
func number(p *int32, unset uint32) uint32 {
	if p == nil {
		return unset
	}
	return uint32(*p)
}

func isTrue(b *bool) bool { return b != nil && *b }
