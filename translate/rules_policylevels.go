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
	"github.com/gatefold/gatefold/translate/xds"
)

// policyLevels returns the policies of a rule, by level. Each delegating rule on the way from the root to this rule
// has a level, the root first. The last level has the policies of this rule itself. The last level is nil if no
// policy targets this rule's route and no filter of this rule names a policy. If no other level has policies either
// (the usual case), the result is nil.
//
// The parameter routeKey is the key of the rule's route. The parameter rules has all rules of this route. The
// parameter targeted is true if a policy targets this route.
func (r *policyRules) policyLevels(c *memo.Ctx, routeKey manifest.Key, rules []api.HTTPRouteRule, rule *ir.Rule, targeted bool) []*levelOut {
	var out []*levelOut
	for _, hop := range rule.Chain {
		out = append(out, r.policies.Get(c, ruleKey{hop.Route, hop.Rule}))
	}
	own := rule.Position[len(rule.Position)-2]
	if targeted || namesPolicies(routeKey, &rules[own]) {
		return append(out, r.policies.Get(c, ruleKey{routeKey, own}))
	}
	if slices.ContainsFunc(out, func(l *levelOut) bool { return len(l.Specs) > 0 || l.Closed != nil }) {
		return append(out, nil)
	}
	return nil
}

// namesPolicies reports whether a filter of the rule names a TrafficPolicy. The parameter routeKey is the key of the
// rule's route.
func namesPolicies(routeKey manifest.Key, rule *api.HTTPRouteRule) bool {
	return slices.ContainsFunc(rule.Filters, func(f gwv1.HTTPRouteFilter) bool {
		_, ok := extension(routeKey.Namespace, f)
		return ok
	})
}

// loadOf returns the size and cost of what a root route adds to each virtual host, including its policies.
func (r *policyRules) loadOf(c *memo.Ctx, object *manifest.Object) route.Load {
	rules, targeted := route.Rules(object), r.aims.any(c, object.Key)
	return route.LoadOf(object, func(rule int) route.PolicyBurden {
		if !targeted && (route.IsStream(object.Key) || !namesPolicies(object.Key, &rules[rule])) {
			return route.PolicyBurden{}
		}
		return r.policies.Get(c, ruleKey{object.Key, rule}).Burden
	})
}

// addPolicies sets the merged policies in all rules of a node (the parameter out). It also sets them in the rule
// Point.Rest of each delegating match, which answers the requests that no child matches. A rule answers 500 if one of
// its policies is missing or cannot be used, or if too many policies apply.
func (r *policyRules) addPolicies(c *memo.Ctx, object *manifest.Object, out *flatOut) {
	out.Problems = append(out.Problems, policy.CheckStrategy(object.Key, object.Value.GetAnnotations())...)
	rules := slices.Clone(out.Rules)
	for _, point := range out.Points {
		rules = append(rules, point.Rest)
	}
	own, targeted := route.Rules(object), r.aims.any(c, object.Key) || len(hasPlugins(object.Key, object)) > 0
	var last []*levelOut
	var joined joinedLevels
	for _, rule := range rules { // the rules for sign-in are added later, and lead to no backend
		levels := r.policyLevels(c, object.Key, own, rule, targeted)
		if levels == nil {
			continue
		}
		if !slices.Equal(levels, last) { // all matches of one rule have the same levels
			last, joined = levels, r.join(c, levels)
			out.use(joined.Uses)
			out.loosens(joined)
			out.addBackends(joined.backends)
			out.addSignIns(signInsOf(joined.extras))
		}
		joined.apply(rule, out)
		out.write(rule, joined.writes)
	}
}

// joinedLevels are the policies of a rule, merged over all levels: those of the rules that delegate to it, and
// its own (see policyLevels).
type joinedLevels struct {
	*policy.Resolved
	extras *ir.Extras
	parts  []ir.Part
	// closed is the reason why the rule answers 500. It is nil if no level has a reason. If several levels have a
	// reason, closing.before decides which reason is used. closedBy is the index of the level with the used reason.
	closed   *closing
	closedBy int
	// backends are the backends of the external services in the field extras.
	backends []*backend.Key
	// loosened are the protecting fields that a policy of a higher level sets and a lower level overrides.
	loosened []policy.Loosening
	// auth are the policies with extAuth that the filter ExternalAuth of a route may replace, and cors those with cors
	// for the filter CORS.
	auth, cors []fieldLevel
	// writes are the identity headers that the policies of all levels write, in force or not.
	writes []*written
}

// fieldLevel is a policy that sets a field, and the index of the policy.Level with that policy. If prefers is true,
// policies of that level win over policies of the levels below.
type fieldLevel struct {
	level   int
	policy  manifest.Key
	prefers bool
}

// join merges the policies of the levels of a rule, root first. A level that is nil has no policies.
func (r *policyRules) join(c *memo.Ctx, levels []*levelOut) joinedLevels {
	var out joinedLevels
	var list []policy.Level
	for i, level := range levels {
		if level == nil {
			level = &levelOut{}
		}
		list = append(list, level.Level)
		out.writes = append(out.writes, level.Writes...)
		if level.Closed.before(out.closed) {
			out.closed, out.closedBy = level.Closed, i
		}
	}
	resolved := policy.Resolve(list)
	out.Resolved = &resolved
	if out.closed == nil {
		out.loosened = policy.Loosened(list, out.Resolved)
		out.extras = out.Resolved.Extras()
		out.backends, _ = r.in.connect(c, out.extras)
		out.parts = append(policyParts(out.Origins), extensionParts(out.extras)...)
		if out.extras.OrNone().ExtAuth != nil {
			out.auth = fieldLevels(list, ir.FieldExtAuth)
		}
		if out.Sets(ir.FieldCORS) {
			out.cors = fieldLevels(list, ir.FieldCORS)
		}
	}
	return out
}

// loosens adds a warning for each protecting field that a policy of a higher level sets and a lower level
// overrides (see joinedLevels.loosened). The problem is not an error, because the priority of the policies
// allows the override.
func (out *flatOut) loosens(joined joinedLevels) {
	for _, l := range joined.loosened {
		if problem := l.Problem(); !slices.Contains(out.Problems, problem) {
			out.Problems = append(out.Problems, problem)
		}
	}
}

// fieldLevels returns the policies in levels that set a field, with the index of their level. It leaves out
// policies that only disable the field. The levels are sorted from the root down.
func fieldLevels(levels []policy.Level, field ir.Field) (out []fieldLevel) {
	for i, level := range levels {
		for _, a := range level.Specs {
			if policy.Sets(a.Spec, field) {
				out = append(out, fieldLevel{i, a.Origin.Key, level.Priority.Prefers(field)})
			}
		}
	}
	return out
}

// filters decides between two settings for a rule: a filter of a route, and the field of policies at a level above
// this route that sets the same (ExternalAuth and extAuth, CORS and cors).
//   - If the rule has no such filter, or if there is no such policy, filters changes nothing.
//   - If one of these policies wins over the levels below it (fieldLevel.prefers), filters removes the filter.
//   - Otherwise the filter stays, and replaces the field of the policies. If it is ExternalAuth of the rule's own
//     route, filters adds a warning to out.
func (j joinedLevels) filters(rule *ir.Rule, out *flatOut) {
	j.filter(rule, ir.FieldCORS, j.cors)
	at, above, level := j.filter(rule, ir.FieldExtAuth, j.auth)
	if len(above) > 0 && level == len(rule.Chain) {
		out.loosens(joinedLevels{loosened: []policy.Loosening{{Field: ir.FieldExtAuth, Parent: above[0].policy, Child: at.Object, At: at.Field}}})
	}
}

// filter removes the filter of a rule that sets the same as a field, if one of the policies above wins. Otherwise it
// returns the filter, the policies above that the filter replaces, and the index of the filter's level.
func (j joinedLevels) filter(rule *ir.Rule, field ir.Field, policies []fieldLevel) (filter ir.Part, above []fieldLevel, level int) {
	at := slices.IndexFunc(rule.Action.Parts, func(p ir.Part) bool { return p.Kind == policy.FilterOf(field) })
	if !policy.RouteHas(&rule.Action, field) || at < 0 {
		return ir.Part{}, nil, 0
	}
	filter = rule.Action.Parts[at]
	level = slices.IndexFunc(rule.Chain, func(hop ir.Hop) bool { return hop.Route == filter.Object })
	if level < 0 {
		level = len(rule.Chain)
	}
	above = slices.DeleteFunc(slices.Clone(policies), func(a fieldLevel) bool { return a.level >= level })
	if slices.ContainsFunc(above, func(a fieldLevel) bool { return a.prefers }) {
		policy.DropFilter(&rule.Action, field)
		return ir.Part{}, nil, 0
	}
	return filter, above, level
}

// apply sets the merged policies in the action of a rule. If j.closed is set, the rule answers 500 instead
// (UNAVAILABLE for a GRPCRoute). In that case, apply also adds the index of the rule to out.Closed, and the
// reason to out.Unsupported.
func (j joinedLevels) apply(rule *ir.Rule, out *flatOut) {
	if j.closed == nil {
		j.filters(rule, out)
		rule.Action.Extras, rule.Action.Parts = j.extras, slices.Concat(rule.Action.Parts, j.parts)
		if out.Policies == nil {
			out.Policies = map[string]*policy.Resolved{}
		}
		out.Policies[rule.Name] = j.Resolved
		return
	}
	rule.Action = xds.Closed(rule).Action
	rule.Action.Respond.Why, rule.Action.Respond.Unasked = j.closed.Why, j.closed.Unasked
	by := ir.Hop{Route: rule.Source.Key, Rule: rule.Position[len(rule.Position)-2]}
	if j.closedBy < len(rule.Chain) {
		by = rule.Chain[j.closedBy]
	}
	rule.Action.Parts = []ir.Part{j.closed.At, {Kind: ir.PartClosed, Object: by.Route, Field: fmt.Sprintf("spec.rules[%d]", by.Rule)}}
	out.Unserved(j.closed.Why)
	if at := rule.Position[len(rule.Position)-2]; !slices.Contains(out.Closed, at) {
		out.Closed = append(out.Closed, at)
	}
}
