package translate

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// written are the identity headers (ir.Identity) that one policy writes, whether or not it can be used. The filter
// ExternalAuth of a route counts as a policy, too.
type written struct {
	Policy  manifest.Key // or the route with the filter
	Headers []ir.Identity
	// Trusted is true if the policy comes from a file of --cluster-paths.
	Trusted bool
}

// writtenBy returns the identity headers of a policy. It returns nil if there are none. The parameter source says
// which kind of file the policy comes from.
func writtenBy(policy manifest.Key, source manifest.Source, headers []ir.Identity) *written {
	if len(headers) == 0 {
		return nil
	}
	return &written{Policy: policy, Headers: headers, Trusted: source == manifest.ClusterPaths}
}

// identityHeaders returns the identity headers that the spec of a policy writes, with those of the extensions that it
// names. The policy may lack a grant for them.
func (r *extensionRules) identityHeaders(c *memo.Ctx, spec *api.TrafficPolicySpec) []ir.Identity {
	return policy.IdentityHeaders(spec, func(extension manifest.Key) []string { return r.extension.Get(c, extension).Writes })
}

// aim has what the removal of identity headers depends on for one rule: the backends that the rule leads to, and the
// identity headers that its policies write.
type aim struct {
	// Leads are the objects of the backends, sorted: those that resolved references of the rule name, by backendRefs
	// of any weight and by mirrors, also if the rule answers 500.
	Leads []manifest.Key
	// Writes are what the policies of the rule write, and those of the rules that delegate to it, in force or not.
	// Policies of the listener are not included.
	Writes []*written
}

// plus returns an aim with the content of both. Each may be nil. Neither is changed.
func (a *aim) plus(other *aim) *aim {
	switch {
	case a == nil:
		return other
	case other == nil:
		return a
	}
	return newAim(slices.Concat(a.Leads, other.Leads), slices.Concat(a.Writes, other.Writes))
}

// newAim returns an aim, nil if it is empty.
func newAim(leads []manifest.Key, writes []*written) *aim {
	if len(leads)+len(writes) == 0 {
		return nil
	}
	slices.SortFunc(leads, manifest.CompareKeys)
	return &aim{slices.Compact(leads), writes}
}

// aimsOf returns a function that returns the aim of a rule of a node, nil if it is empty. The parameter object is the
// route of the node. The parameter writes of the function has what the policies of the rule write.
func (r *nodeRules) aimsOf(c *memo.Ctx, object *manifest.Object) func(rule *ir.Rule, writes []*written) *aim {
	rules, known := route.Rules(object), map[int]*aim{}
	return func(rule *ir.Rule, writes []*written) *aim {
		at := rule.Position[len(rule.Position)-2]
		out, ok := known[at]
		if !ok {
			out = r.aimOf(c, object, at, &rules[at], rules[at].BackendRefs)
			known[at] = out
		}
		for _, hop := range rule.Chain {
			out = out.plus(r.handed.Get(c, ruleKey{hop.Route, hop.Rule}))
		}
		if len(writes) == 0 {
			return out
		}
		return out.plus(&aim{Writes: writes})
	}
}

// runHanded returns the aim of the mirrors and the filter ExternalAuth of a rule, nil if there are none.
func (r *nodeRules) runHanded(c *memo.Ctx, at ruleKey) *aim {
	object, ok := r.in.routes.Get(c, at.Route)
	if !ok {
		return nil
	}
	if rules := route.Rules(object); at.Rule < len(rules) {
		return r.aimOf(c, object, at.Rule, &rules[at.Rule], nil)
	}
	return nil
}

// aimOf returns the aim of one rule of a route without its policies: the backends of its mirrors and of the parameter
// refs, and what its filter ExternalAuth writes. The parameter at is the index of the rule.
func (r *nodeRules) aimOf(c *memo.Ctx, object *manifest.Object, at int, rule *api.HTTPRouteRule, refs []gwv1.HTTPBackendRef) *aim {
	var leads []manifest.Key
	lead := func(ref gwv1.BackendObjectReference) {
		to := backend.Refer(object.Key, ref)
		to.GRPC = object.Key.Kind == "GRPCRoute"
		if !to.Known() {
			return
		}
		if resolution := r.in.backend.Get(c, to); resolution.OK() {
			leads = append(leads, resolution.Key.Object)
		}
	}
	for i := range refs {
		lead(refs[i].BackendObjectReference)
	}
	var writes []*written
	for i, filter := range rule.Filters {
		if filter.RequestMirror != nil {
			lead(filter.RequestMirror.BackendRef)
		}
		if auth := filter.ExternalAuth; auth != nil && auth.HTTPAuthConfig != nil {
			field := fmt.Sprintf("spec.rules[%d].filters[%d].externalAuth.http.allowedResponseHeaders", at, i)
			names := without(policy.HeaderNames(auth.HTTPAuthConfig.AllowedResponseHeaders), policy.HeaderNames(auth.HTTPAuthConfig.AllowedRequestHeaders))
			if one := writtenBy(object.Key, object.Source, policy.Identities(field, names...)); one != nil {
				writes = append(writes, one)
			}
		}
	}
	return newAim(leads, writes)
}

// without returns the names that are not in the list of others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// write records what the policies of a rule write.
func (out *flatOut) write(rule *ir.Rule, writes []*written) {
	if len(writes) == 0 {
		return
	}
	if out.Writes == nil {
		out.Writes = map[string][]*written{}
	}
	out.Writes[rule.Name] = writes
}

// guard records the aim of the rule Point.Rest of a delegating match. The parameter to may be nil.
func (out *flatOut) guard(point *route.Point, to *aim) {
	if to == nil {
		return
	}
	if out.Guards == nil {
		out.Guards = map[string]*aim{}
	}
	out.Guards[point.Name] = to
}
