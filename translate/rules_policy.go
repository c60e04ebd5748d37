package translate

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

const kindTrafficPolicy = "TrafficPolicy"

// ruleKey names one rule of one route.
type ruleKey struct {
	Route store.Key
	Rule  int
}

func (k ruleKey) String() string { return fmt.Sprintf("%s #%d", k.Route, k.Rule) }

// policyOut is one policy by itself.
type policyOut struct {
	// Attached has no standing yet; nil when there is no such policy.
	Attached *policy.Attached
	// Unusable says why the policy closes the rules that it is for; "" when it is
	// sound.
	Unusable string
	Problems []store.Problem
}

// levelOut is what attaches to one rule of one route.
type levelOut struct {
	policy.Level
	// Closed says why the rule, and all below it, must answer 500: a policy that
	// is named and missing, or unusable. "" when nothing is wrong.
	Closed   string
	ClosedAt ir.Part // where that is written
	Problems []store.Problem
}

func (n *network) declarePolicies(e *memo.Engine) {
	n.policy = memo.NewRule(e, "policy", n.runPolicy, deepEqual)
	memo.Each(n.policy, n.in.trafficPolicies)
	n.policies = memo.NewRule(e, "policies", n.runPolicies, deepEqual)
}

// runPolicy looks at one policy: what is wrong with it is found here, before it
// is merged with others.
func (n *network) runPolicy(c *memo.Ctx, key store.Key) *policyOut {
	object, _ := n.in.trafficPolicies.Get(c, key)
	from, ok := store.As[*api.TrafficPolicy](object)
	if !ok {
		return &policyOut{}
	}
	weight, unreadable := policyWeight(key, from.Annotations)
	spec := policy.WithNamespace(&from.Spec, key.Namespace)
	out := &policyOut{Attached: &policy.Attached{Origin: route.OriginOf(object), Weight: weight, Spec: spec}, Problems: unreadable}
	extras, problems := policy.Lower(spec)
	if _, lost := n.connect(c, extras); len(lost) > 0 {
		problems = append(problems, lost...)
	} else {
		problems = append(problems, xds.CheckExtras(key, extras)...)
	}
	for _, problem := range problems {
		problem.Object = key
		out.Problems = append(out.Problems, problem)
		if problem.Severity == store.Error && out.Unusable == "" {
			out.Unusable = problem.Field + ": " + problem.Message
		}
	}
	return out
}

// policyWeight reads the weight of a policy of either kind.
func policyWeight(key store.Key, annotations map[string]string) (int32, []store.Problem) {
	weight, readable := policy.WeightOf(annotations)
	if readable {
		return weight, nil
	}
	return 0, []store.Problem{annotationProblem(key, api.AnnotationPolicyWeight,
		fmt.Sprintf("the policy weight %q is not a whole number of 32 bits; it counts as 0", annotations[api.AnnotationPolicyWeight]),
		"write a number from -2147483648 to 2147483647, in quotes")}
}

func annotationProblem(key store.Key, annotation, message, hint string) store.Problem {
	return store.Problem{
		Code: "InvalidValue", Severity: store.Warning, Object: key,
		Field: "metadata.annotations[" + annotation + "]", Message: message, Hint: hint,
	}
}

// runPolicies gives the level of one rule: the policies that it names, and those
// that target it or its route.
func (n *network) runPolicies(c *memo.Ctx, key ruleKey) *levelOut {
	object, _ := n.in.routes.Get(c, key.Route)
	from, ok := store.As[*api.HTTPRoute](object)
	if !ok || key.Rule >= len(from.Spec.Rules) {
		return &levelOut{}
	}
	rule, out, gathered := &from.Spec.Rules[key.Rule], &levelOut{}, n.gathering(c)
	for i, filter := range rule.Filters {
		if of, ok := extension(key.Route.Namespace, filter); ok && !gathered.add(of, policy.ByExtension) {
			gathered.close(out.missing(key, i, of))
		}
	}
	for _, of := range n.in.policyIndex.Get(c, key.Route) {
		for _, standing := range standings(n.targets(c, of), key.Route, sectionOf(rule.Name)) {
			gathered.add(of, standing)
		}
	}
	priority, _ := policy.StrategyOf(from.Annotations)
	out.Level = policy.NewLevel(gathered.specs, priority, route.CompareOrigins)
	out.Closed, out.ClosedAt = gathered.closed, gathered.closedAt
	return out
}

// missing says why the rule must not serve without the policy that it names.
func (out *levelOut) missing(key ruleKey, filter int, of store.Key) (why string, at ir.Part) {
	problem := store.Problem{
		Code: "PolicyNotFound", Severity: store.Error, Object: key.Route,
		Field:   fmt.Sprintf("spec.rules[%d].filters[%d].extensionRef", key.Rule, filter),
		Message: of.String() + " does not exist", Hint: "the rule answers 500 until it does",
	}
	out.Problems = append(out.Problems, problem)
	return fmt.Sprintf("%s %s: %s", problem.Object, problem.Field, problem.Message), ir.Part{Kind: ir.PartClosed, Object: problem.Object, Field: problem.Field}
}

// extension names the policy of an ExtensionRef filter.
func extension(namespace string, filter gwv1.HTTPRouteFilter) (of store.Key, ok bool) {
	ref := filter.ExtensionRef
	if ref == nil || !route.IsTrafficPolicy(ref) {
		return of, false
	}
	return policyKey(namespace, string(ref.Name)), true
}

func policyKey(namespace, name string) store.Key {
	return store.Key{Group: api.Group, Kind: kindTrafficPolicy, Namespace: namespace, Name: name}
}

func (n *network) targets(c *memo.Ctx, of store.Key) []api.PolicyTarget {
	object, _ := n.in.trafficPolicies.Get(c, of)
	if from, ok := store.As[*api.TrafficPolicy](object); ok {
		return from.Spec.TargetRefs
	}
	return nil
}

// standings tells in which ways targets name a section of an object: a rule of a
// route or a listener of a Gateway.
func standings(targets []api.PolicyTarget, of store.Key, section string) []policy.Standing {
	var out []policy.Standing
	for _, target := range targets {
		switch {
		case targetKey(of.Namespace, target) != of:
		case target.SectionName == nil:
			out = append(out, policy.ByObject)
		case section == string(*target.SectionName):
			out = append(out, policy.BySection)
		}
	}
	return out
}

// sectionOf gives the name of a rule, "" when it has none.
func sectionOf(name *gwv1.SectionName) string {
	if name == nil {
		return ""
	}
	return string(*name)
}

func targetKey(namespace string, target api.PolicyTarget) store.Key {
	return store.Key{Group: string(target.Group), Kind: string(target.Kind), Namespace: namespace, Name: string(target.Name)}
}

// targetsOf lists a policy under the objects that it targets.
func targetsOf(key store.Key, object *store.Object) []store.Key {
	from, _ := store.As[*api.TrafficPolicy](object)
	return targetKeys(key.Namespace, from.Spec.TargetRefs)
}

// targetKeys gives the objects that targets name, once each.
func targetKeys(namespace string, targets []api.PolicyTarget) []store.Key {
	var out []store.Key
	for _, target := range targets {
		if at := targetKey(namespace, target); !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// policyLevels gives the levels of a flattened rule: those of the rules that
// delegate to it, root first, and its own (nil when it has none); no levels for
// nothing at all. Most rules have no policy and need no cell to know it.
func (n *network) policyLevels(c *memo.Ctx, object *store.Object, rule *ir.Rule, targeted bool) []*levelOut {
	var out []*levelOut
	for _, hop := range rule.Chain {
		out = append(out, n.policies.Get(c, ruleKey{hop.Route, hop.Rule}))
	}
	from, _ := store.As[*api.HTTPRoute](object)
	own := rule.Position[len(rule.Position)-2]
	if targeted || slices.ContainsFunc(from.Spec.Rules[own].Filters, func(f gwv1.HTTPRouteFilter) bool {
		_, ok := extension(object.Key.Namespace, f)
		return ok
	}) {
		return append(out, n.policies.Get(c, ruleKey{object.Key, own}))
	}
	if slices.ContainsFunc(out, func(l *levelOut) bool { return len(l.Specs) > 0 || l.Closed != "" }) {
		return append(out, nil)
	}
	return nil
}

// addPolicies puts the policies into the rules of a node, before they are handed
// on. A rule that must not serve without its policies answers 500.
func (n *network) addPolicies(c *memo.Ctx, object *store.Object, out *flatOut) {
	from, _ := store.As[*api.HTTPRoute](object)
	if _, known := policy.StrategyOf(from.Annotations); !known {
		out.Problems = append(out.Problems, annotationProblem(object.Key, api.AnnotationPolicyPriority,
			fmt.Sprintf("there is no priority %q; %s is used", from.Annotations[api.AnnotationPolicyPriority], policy.ShallowMergePreferChild),
			fmt.Sprintf("write one of %v", policy.Strategies())))
	}
	rules := slices.Clone(out.Rules)
	for _, point := range out.Points {
		rules = append(rules, point.Rest)
	}
	targeted := len(n.in.policyIndex.Get(c, object.Key)) > 0
	var last []*levelOut
	var joined joinedLevels
	for _, rule := range rules {
		levels := n.policyLevels(c, object, rule, targeted)
		if levels == nil {
			continue
		}
		if !slices.Equal(levels, last) { // the matches of one rule have the same
			last, joined = levels, n.join(c, levels)
			out.use(joined.Uses)
			out.addBackends(joined.backends)
		}
		joined.apply(rule, out)
	}
}

// joinedLevels is what the levels of a rule come to.
type joinedLevels struct {
	*policy.Resolved
	extras *ir.Extras
	parts  []ir.Part
	closed string
	// closedAt is where that is written, closedBy the level that it closes.
	closedAt ir.Part
	closedBy int
	// backends are those of the services that the extras name.
	backends []backend.Key
}

func (n *network) join(c *memo.Ctx, levels []*levelOut) joinedLevels {
	var out joinedLevels
	var list []policy.Level
	for i, level := range levels {
		if level == nil {
			level = &levelOut{}
		}
		list = append(list, level.Level)
		if out.closed == "" {
			out.closed, out.closedAt, out.closedBy = level.Closed, level.ClosedAt, i
		}
	}
	resolved := policy.Resolve(list)
	out.Resolved = &resolved
	if out.closed == "" {
		out.extras = out.Resolved.Extras()
		out.backends, _ = n.connect(c, out.extras)
		out.parts = append(policyParts(out.Origins), extensionParts(out.extras)...)
	}
	return out
}

// policyParts tell which field of which policy is in force.
func policyParts(origins []policy.FieldOrigin) []ir.Part {
	var parts []ir.Part
	for _, origin := range origins {
		for _, key := range origin.From {
			parts = append(parts, ir.Part{Kind: kindTrafficPolicy + " " + origin.Field, Object: key, Field: "spec." + origin.Field})
		}
	}
	return parts
}

// extensionParts tell which extensions the fields in force name.
func extensionParts(extras *ir.Extras) []ir.Part {
	if extras == nil {
		return nil
	}
	var parts []ir.Part
	for _, use := range extras.Extensions() {
		parts = append(parts, ir.Part{Kind: kindTrafficPolicy + " " + use.Field, Object: use.Key, Field: use.Extension.Path()})
	}
	return parts
}

func (j joinedLevels) apply(rule *ir.Rule, out *flatOut) {
	if j.closed == "" {
		rule.Action.Extras, rule.Action.Parts = j.extras, slices.Concat(rule.Action.Parts, j.parts)
		if out.Policies == nil {
			out.Policies = map[string]*policy.Resolved{}
		}
		out.Policies[rule.Name] = j.Resolved
		return
	}
	rule.Action = xds.Closed(rule).Action
	rule.Action.Respond.Why = j.closed
	by := ir.Hop{Route: rule.Source.Key, Rule: rule.Position[len(rule.Position)-2]}
	if j.closedBy < len(rule.Chain) {
		by = rule.Chain[j.closedBy]
	}
	rule.Action.Parts = []ir.Part{j.closedAt, {Kind: ir.PartClosed, Object: by.Route, Field: fmt.Sprintf("spec.rules[%d]", by.Rule)}}
	out.Unserved(j.closed)
	if at := rule.Position[len(rule.Position)-2]; !slices.Contains(out.Closed, at) {
		out.Closed = append(out.Closed, at)
	}
}

// use adds what became of policies at one rule to what the node says of them.
func (out *flatOut) use(uses []policy.Use) {
	for _, use := range uses {
		i := slices.IndexFunc(out.Uses, func(u policy.Use) bool { return u.Policy == use.Policy })
		switch {
		case i < 0:
			out.Uses = append(out.Uses, use)
		case out.Uses[i].Fate != use.Fate:
			out.Uses[i].Fate = policy.Merged
		}
	}
}
