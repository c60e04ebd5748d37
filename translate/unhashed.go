package translate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// hashUse says what is known of the backends to which a TrafficPolicy with hashPolicies applies.
type hashUse uint8

const (
	noBackends hashUse = iota // no backend was seen
	unhashed                  // no backend that was seen takes the hash of a route
	maybeUsed                 // a backend takes it, or some backends are not known
)

// unhashed returns a warning if hashPolicies of a TrafficPolicy have no effect, because no backend of its target routes
// takes the hash of a route. It returns nil for a policy with another target, because the routes of a Gateway come and
// go, and for a policy whose backends are not all known: they are missing, or those of delegated routes.
func (r *policyStatusRules) unhashed(c *memo.Ctx, key manifest.Key, own *policyOut) []manifest.Problem {
	if !policy.Sets(own.Attached.Spec, ir.FieldHashPolicies) {
		return nil
	}
	sum := noBackends
	for _, target := range r.in.aims.targets.Get(c, key) {
		sum = max(sum, r.hashUseAt(c, key, target))
	}
	if sum != unhashed {
		return nil
	}
	return []manifest.Problem{{
		Code: "NoEffect", Severity: manifest.Warning, Object: key, Field: ir.FieldHashPolicies.Path(),
		Message: "no backend of the target routes is balanced by a hash of the route: hashPolicies has no effect",
		Hint:    "write it at spec.loadBalancer.ringHash or spec.loadBalancer.maglev of a BackendConfigPolicy for the backends",
	}}
}

// hashUseAt returns what is known of the backends of one target of a policy. The parameter key is the key of the
// policy.
func (r *policyStatusRules) hashUseAt(c *memo.Ctx, key manifest.Key, target store.Target) (sum hashUse) {
	if target.Kind != "HTTPRoute" && target.Kind != "GRPCRoute" {
		return maybeUsed
	}
	objects, all := r.in.aims.objects(c, key, target, maxListed)
	if !all {
		return maybeUsed
	}
	for _, at := range objects {
		object, ok := r.in.routes.Get(c, at)
		if !ok || route.Delegates(object) { // a backend of a route below may take it
			return maybeUsed
		}
		for _, rule := range route.Rules(object) {
			if target.Section == "" || rule.Name != nil && string(*rule.Name) == target.Section {
				sum = max(sum, r.hashUseOf(c, at, rule.BackendRefs))
			}
		}
	}
	return sum
}

// hashUseOf returns what is known of the backends of one rule of a route.
func (r *policyStatusRules) hashUseOf(c *memo.Ctx, route manifest.Key, refs []gwv1.HTTPBackendRef) (sum hashUse) {
	for _, ref := range refs {
		to := backend.Refer(route, ref.BackendObjectReference)
		to.GRPC = route.Kind == "GRPCRoute"
		resolution := r.in.backend.Get(c, to)
		if !resolution.OK() {
			return maybeUsed
		}
		config := r.in.configOf(c, resolution.Key.Object)
		if config.Upstream != nil && config.Upstream.Balancer.HashesRoutes() {
			return maybeUsed
		}
		sum = unhashed
	}
	return sum
}
