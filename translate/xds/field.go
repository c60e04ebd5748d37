package xds

import (
	"sync"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// policyField is the configuration of Envoy for one field of TrafficPolicies: a filter of the
// chain, or settings of a route's action.
type policyField struct {
	name ir.Field
	// filters are empty for a field of the action alone.
	filters []httpFilter
	// fill completes an action by what its route leaves open, or the extras, which are a
	// copy, by what the route says itself. It is called for every route with extras, CORS or
	// ExternalAuth.
	fill func(*ir.Action, *ir.Extras)
	// action writes settings that only policies have.
	action func(*routev3.RouteAction, *ir.Extras)
	// check reports what Envoy would reject of a policy, or do otherwise than it says.
	check func(*checker, *ir.Extras)
}

// policyFields returns a row for each field. The filters are in the order of Envoy's chain: requests
// pass it from the first to the last, answers the other way. CORS answers preflight requests
// before anything is asked of the client, acl costs less than all behind it, and CSRF, cookies of
// users who have signed in, passwords and keys are headers alone. The buffer comes before everything that waits for a service: Envoy does not
// measure bytes that arrive during the wait in a filter behind it. Requests that are
// rejected are not counted by the rate limits behind, and headers are changed when all
// others have seen them. The rows are shared: do not change them.
var policyFields = sync.OnceValue(func() []policyField {
	return []policyField{
		{name: ir.FieldCORS, filters: []httpFilter{corsFilter()}, fill: fillCORS},
		{name: ir.FieldACL, filters: []httpFilter{aclResponseFilter(), aclFilter()}, check: checkACL},
		{name: ir.FieldCSRF, filters: []httpFilter{csrfFilter()}, check: checkCSRF},
		{name: ir.FieldOAuth2, filters: []httpFilter{oauth2Filter()}},
		{name: ir.FieldJWTAuth, filters: []httpFilter{jwtFilter()}},
		{name: ir.FieldBasicAuth, filters: []httpFilter{basicAuthFilter(), dropPasswordFilter()}},
		{name: ir.FieldAPIKeyAuth, filters: []httpFilter{apiKeyAuthFilter()}, check: checkAPIKeyAuth},
		{name: ir.FieldBuffer, filters: []httpFilter{bufferFilter()}},
		{name: ir.FieldExtAuth, filters: []httpFilter{extAuthFilter()}, fill: fillExtAuth, check: checkExtAuth},
		{name: ir.FieldRBAC, filters: []httpFilter{rbacFilter()}, check: checkRBAC},
		{name: ir.FieldLocalRateLimit, filters: []httpFilter{localRateLimitFilter()}},
		{name: ir.FieldGlobalRateLimit, filters: []httpFilter{globalRateLimitFilter()}, check: checkGlobalRateLimit},
		{name: ir.FieldExtProc, filters: []httpFilter{extProcFilter()}, check: checkExtProc},
		{name: ir.FieldTransformation, filters: []httpFilter{transformationFilter()}, check: checkTransformation},
		{name: ir.FieldHeaderModifiers, filters: []httpFilter{headerModifiersFilter()}, check: checkHeaderModifiers},
		{name: ir.FieldAutoHostRewrite, action: setAutoHost},
		{name: ir.FieldTimeouts, fill: fillRequestTimeout, action: setIdleTimeout},
		{name: ir.FieldRetry, fill: fillRetry},
		{name: ir.FieldHashPolicies, action: setHashPolicies, check: checkHashPolicies},
	}
})

// HeldByHost reports whether a virtual host can have a field of its policies for all of its
// routes. The other fields are in a route's action.
func HeldByHost(name ir.Field) bool {
	for _, f := range policyFields() {
		if f.name == name {
			return len(f.filters) > 0
		}
	}
	return false
}

// withExtras adds the settings of policies to an action. Settings of the route itself win.
func withExtras(action ir.Action) ir.Action {
	portless := action.Redirect != nil && action.Redirect.PortLess
	if action.Extras == nil && action.CORS == nil && action.ExternalAuth == nil && !portless {
		return action
	}
	extras := action.Extras.OrNone()
	if portless {
		extras.LocationPort = action.Redirect.Port
	}
	for _, f := range policyFields() {
		if f.fill != nil {
			f.fill(&action, &extras)
		}
	}
	action.Extras = &extras
	return action
}

// setExtras writes the settings that only policies have.
func setExtras(action *routev3.RouteAction, extras *ir.Extras) {
	if extras == nil {
		return
	}
	for _, f := range policyFields() {
		if f.action != nil {
			f.action(action, extras)
		}
	}
}

// fillCORS makes the filter of the policies apply the CORS settings of the route's own filter.
func fillCORS(action *ir.Action, extras *ir.Extras) { extras.CORS = action.CORSInForce() }

// fillExtAuth makes the filter of the policies call the service of the route's own filter.
func fillExtAuth(action *ir.Action, extras *ir.Extras) { extras.ExtAuth = action.AuthInForce() }

func fillRequestTimeout(action *ir.Action, extras *ir.Extras) {
	if action.RequestTimeout == nil {
		action.RequestTimeout = extras.RequestTimeout
	}
}

func setIdleTimeout(action *routev3.RouteAction, extras *ir.Extras) {
	if extras.IdleTimeout != nil {
		action.IdleTimeout = durationpb.New(*extras.IdleTimeout)
	}
}

func fillRetry(action *ir.Action, extras *ir.Extras) {
	if action.Retry == nil {
		action.Retry = extras.Retry
	}
}

func setAutoHost(action *routev3.RouteAction, extras *ir.Extras) {
	if extras.AutoHost && action.HostRewriteSpecifier == nil {
		action.HostRewriteSpecifier = &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)}
	}
}
