package xds

import (
	"sync"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatefold/gatefold/translate/ir"
)

// policyField says how one field of TrafficPolicies configures Envoy: by filters of the listener's filter chain, or
// by settings of a route's action.
type policyField struct {
	name ir.Field
	// filters is empty if the field only has settings of the action.
	filters []httpFilter
	// fill is for a setting that both a route rule and policies can have. It merges the two settings. The rule's
	// setting wins. fill writes the result into the action or into the extras; both are copies. It is called for
	// every route with extras, CORS, ExternalAuth or a redirect without port (PortLess). It is nil if only policies
	// can have the setting.
	fill func(*ir.Action, *ir.Extras)
	// action writes the policy field into Envoy's action. It is nil for a field that filters or fill handle alone.
	action func(*routev3.RouteAction, *ir.Extras)
	// check reports what Envoy would reject in a policy, or would do in another way than the policy says. It is nil
	// if there is nothing to check.
	check func(*checker, *ir.Extras)
}

// policyFields returns one policyField for each field of TrafficPolicies that configures Envoy, in the order of
// the filters in Envoy's chain. Requests pass the chain from the first filter to the last, and answers from the
// last to the first. Reasons for the order:
//
//   - CORS answers preflight requests before a filter demands credentials of the client.
//   - acl costs less than all later filters.
//   - CSRF, oauth2, jwtAuth, basicAuth and apiKeyAuth need only the headers of a request.
//   - The buffer comes before extAuth, rateLimit.global and extProc, which wait for a service. Otherwise Envoy would
//     not measure bytes that arrive during the wait.
//   - Rate limits come after the filters that reject requests, except extProc. So rejected requests are not
//     counted.
//   - transformation and headerModifiers come last: all other filters read the headers before they are changed.
//
// The result is shared: do not change it.
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

// HeldByHost reports whether a virtual host can configure a policy field for all of its routes. The result is true
// for a field that HTTP filters implement, and false for a field that is a setting of each route's action.
func HeldByHost(name ir.Field) bool {
	for _, f := range policyFields() {
		if f.name == name {
			return len(f.filters) > 0
		}
	}
	return false
}

// withExtras returns the action of a rule with the settings of policies added. If the rule and the policies have
// the same setting, the rule's setting wins. For a redirect with PortLess, withExtras also sets
// Extras.Portless.
func withExtras(action ir.Action) ir.Action {
	portless := action.Redirect != nil && action.Redirect.PortLess
	if action.Extras == nil && action.CORS == nil && action.ExternalAuth == nil && !portless {
		return action
	}
	extras := action.Extras.OrNone()
	if portless {
		extras.Portless = action.Redirect
	}
	for _, f := range policyFields() {
		if f.fill != nil {
			f.fill(&action, &extras)
		}
	}
	action.Extras = &extras
	return action
}

// setExtras writes some settings of policies into Envoy's RouteAction: the settings whose policyField has the
// function action. The other settings are written by the fields filters and fill of policyField. The parameter extras
// may be nil.
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

// fillCORS sets extras.CORS to the CORS settings that apply. These are the settings of the route's own filter, or
// of policies if the route has no such filter.
func fillCORS(action *ir.Action, extras *ir.Extras) { extras.CORS = action.CORSInForce() }

// fillExtAuth sets extras.ExtAuth to the authorization that applies. This is the authorization of the route's own
// filter, or of policies if the route has no such filter.
func fillExtAuth(action *ir.Action, extras *ir.Extras) { extras.ExtAuth = action.AuthInForce() }

// fillRequestTimeout gives a route the request timeout of its policies, if the route has no timeout of its own.
func fillRequestTimeout(action *ir.Action, extras *ir.Extras) {
	if action.RequestTimeout == nil {
		action.RequestTimeout = extras.RequestTimeout
	}
}

// setIdleTimeout sets the idle timeout of a route to the idle timeout of its policies. If the policies set none,
// it changes nothing.
func setIdleTimeout(action *routev3.RouteAction, extras *ir.Extras) {
	if extras.IdleTimeout != nil {
		action.IdleTimeout = durationpb.New(*extras.IdleTimeout)
	}
}

// fillRetry gives a route the retries of its policies, if the route has no retries of its own.
func fillRetry(action *ir.Action, extras *ir.Extras) {
	if action.Retry == nil {
		action.Retry = extras.Retry
	}
}

// setAutoHost makes Envoy send the DNS name of the chosen endpoint as Host, if policies set autoHostRewrite and
// the route has no new host of its own.
func setAutoHost(action *routev3.RouteAction, extras *ir.Extras) {
	if extras.AutoHost && action.HostRewriteSpecifier == nil {
		action.HostRewriteSpecifier = &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)}
	}
}
