package translate

import (
	"fmt"
	"slices"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// ruleKey is a rule of a route, by its index in the object.
type ruleKey struct {
	Route manifest.Key
	Rule  int
}

// plainRule is a value of ruleKey.Rule that stands for all rules of a route without policies of their own (see the
// function plain). Only the policies of the whole route apply to these rules, so the rules share one levelOut.
const plainRule = -1

func (k ruleKey) String() string {
	if k.Rule == plainRule {
		return k.Route.String()
	}
	return fmt.Sprintf("%s #%d", k.Route, k.Rule)
}

// policyOut is the result for one TrafficPolicy, independent of its targets.
type policyOut struct {
	// Attached is the policy in the form in which policies are merged. Its Standing is not set, because the
	// Standing depends on the target. Attached is nil if the policy does not exist.
	Attached *policy.Attached
	// Unusable says why the targets of the policy answer 500, "" if the policy can be used. Field is the path
	// of the cause in the policy. Invalid is true if the schema rejects the policy.
	Unusable, Field string
	// Unasked is the issuer whose discovery document was not requested yet, if that is the only reason for
	// Unusable. Otherwise it is "".
	Unasked string
	Invalid bool
	// Unserved is true if gatefold does not serve the kind of the policy. Invalid is then true, too.
	Unserved bool
	// Counted is true if the policy counts toward the limits on what policies of Gateways and listeners may cost
	// Envoy (see weigh and tooLongForRoutes). A policy in a file that the flag --cluster-paths names does not
	// count, because it belongs to the operator.
	Counted bool
	// Written are the identity headers that the policy writes, whether or not it can be used. It is nil if there are
	// none.
	Written *written
	// Budgets are the budgets of rateLimit.global that the policy spends, in the order of its descriptors. They are nil
	// if the policy cannot be used.
	Budgets  []limitBudget
	Problems []manifest.Problem
}

// levelOut has the policies that apply to one rule of one route, as a policy.Level. The policies of the rules
// that delegate to that rule are levels of their own.
type levelOut struct {
	policy.Level
	// Closed is the reason why the rule, and all rules of delegated routes below it, answer 500: a policy is
	// missing or cannot be used, or too many policies apply. It is nil if there is no such reason.
	Closed   *closing
	Problems []manifest.Problem
	// Burden is what the policies of this level alone add to each match of the rule, without the policies of other
	// levels.
	Burden route.PolicyBurden
	// Writes are the identity headers that the policies of this level write, also those that cannot be used.
	Writes []*written
}

type policyIn struct {
	*hintRules
	*extensionRules
	*credentialRules
	*expressionTextRules
	targetRulesIn
	aims            targetRules
	trafficPolicies *objects
	routes          *objects
	gateways        *objects
	listenerSets    *objects
}

// policyRules read TrafficPolicies, and find the policies that apply to each rule of a route.
type policyRules struct {
	in       policyIn
	policy   *memo.Rule[manifest.Key, *policyOut]
	aims     targetRules
	policies *memo.Rule[ruleKey, *levelOut]
}

func newPolicyRules(e *memo.Engine, in policyIn) *policyRules {
	r := &policyRules{in: in, aims: in.aims}
	r.policy = memo.NewRule(e, "policy", r.runPolicy, deepEqual)
	memo.Each(r.policy, in.trafficPolicies)
	r.policies = memo.NewRule(e, "policies", r.runPolicies, deepEqual)
	return r
}

func (r *policyRules) report(all *problemFold) {
	problemsFrom(all, "policy", r.policy, func(p *policyOut) []manifest.Problem { return p.Problems })
	r.aims.report(all, "they answer 500")
	problemsFrom(all, "policies", r.policies, func(l *levelOut) []manifest.Problem { return l.Problems })
}

// trafficPolicyKind returns the group and kind of TrafficPolicy.
func trafficPolicyKind() apischema.GroupKind {
	return apischema.GroupKind{Group: api.Group, Kind: api.KindTrafficPolicy}
}

// runPolicy returns the result for one policy, without regard to the targets: the settings and problems of the
// policy, and whether the policy can be used.
func (r *policyRules) runPolicy(c *memo.Ctx, key manifest.Key) *policyOut {
	object, _ := r.in.trafficPolicies.Get(c, key)
	from, ok := manifest.As[*api.TrafficPolicy](object)
	if !ok {
		return r.invalidPolicy(c, key)
	}
	weight, unreadable := policyWeight(key, from.Annotations)
	spec := policy.WithNamespace(&from.Spec, key.Namespace)
	out := &policyOut{
		Attached: &policy.Attached{Origin: route.OriginOf(object), Weight: weight, Spec: spec},
		Counted:  object.Source != manifest.ClusterPaths, Problems: unreadable,
	}
	out.Written = writtenBy(key, object.Source, r.in.identityHeaders(c, spec))
	extras, problems := policy.Lower(spec)
	if denied := append(r.in.notGranted(c, key, extras), r.in.notUsers(c, object, extras)...); len(denied) > 0 {
		problems = append(problems, denied...)
	} else if long := r.in.tooManyExpressions(c, object); hasErrors(long) {
		problems = append(problems, long...)
	} else if _, lost := r.in.connect(c, extras); len(lost) > 0 {
		problems = append(problems, lost...)
	} else {
		problems = slices.Concat(problems, long, xds.CheckExtras(out.Attached.Origin, extras))
	}
	for _, target := range store.Targets(object) {
		if route.IsStream(target.Key(key.Namespace)) {
			problems = append(problems, policy.CheckStreams(spec, target.Kind)...)
			break
		}
	}
	if out.Counted {
		problems = append(problems, r.tooLongForRoutes(c, object, out.Attached)...)
	}
	for _, problem := range problems {
		problem.Object = key
		out.Problems = append(out.Problems, problem)
		if closes(&problem) && out.Unusable == "" {
			out.Unusable, out.Field = problem.Field+": "+problem.Message, problem.Field
		}
	}
	if out.Unusable == "" {
		out.Budgets = limitBudgets(extras)
	} else if !hasErrors(problems) {
		out.Unasked = r.unasked(c, extras)
	}
	return out
}

// unasked returns the first issuer of an extension in extras whose discovery document was not requested yet, ""
// if there is none.
func (r *policyRules) unasked(c *memo.Ctx, extras *ir.Extras) string {
	for _, use := range extras.Extensions() {
		if found := r.in.extension.Get(c, use.Key); found.Unasked {
			return found.Issuer
		}
	}
	return ""
}

// tooLongForRoutes returns an error for each field of a policy that is too large to be copied into every route
// of a listener. Such copies exist only for policies that target a Gateway, a ListenerSet or a listener; for
// other policies the result is nil. Fields that Envoy accepts on a virtual host are not copied, and never too
// large.
func (r *policyRules) tooLongForRoutes(c *memo.Ctx, object *manifest.Object, attached *policy.Attached) (problems []manifest.Problem) {
	if !slices.ContainsFunc(store.Targets(object), func(t store.Target) bool { return t.Kind == "Gateway" || t.Kind == kindListenerSet }) {
		return nil
	}
	resolved := resolveHost([]*policy.Attached{attached})
	for _, origin := range resolved.Origins {
		if cost := r.burden(c, &resolved, origin.Field, attached.Origin.Outside).Cost(); cost > freeUnits && !xds.HeldByHost(origin.Field) {
			problems = append(problems, manifest.Problem{
				Code: "TooManyCopies", Severity: manifest.Error, Field: origin.Field.Path(),
				Message: fmt.Sprintf("each route of the listeners has the field, which costs Envoy as much as %d plain routes; a policy of a Gateway or listener may have %d", cost, freeUnits),
				Hint:    "make the list shorter, or target the routes that need it",
			})
		}
	}
	return problems
}

// invalidPolicy returns the result for a policy without a valid version. If the schema rejects the policy, its
// targets fail closed. If the policy does not exist, the result is empty.
func (r *policyRules) invalidPolicy(c *memo.Ctx, key manifest.Key) *policyOut {
	from, ok := r.in.invalid.Get(c, key)
	if !ok {
		return &policyOut{}
	}
	names := slices.Clone(from.Identities)
	for _, extension := range from.Extensions {
		names = append(names, r.in.extension.Get(c, extension).Writes...)
	}
	return &policyOut{
		Written:  writtenBy(key, from.Source, policy.Identities("spec", names...)),
		Attached: &policy.Attached{Origin: &ir.Origin{Key: key}, Spec: &api.TrafficPolicySpec{}},
		Unusable: from.Message(), Field: from.Mistakes[0].Field, Invalid: true, Unserved: from.Unserved,
	}
}

// runPolicies returns the policies of one rule: those that its filters name, and those that target the rule or
// its route. For the index plainRule, it returns the policies that target the whole route. The result is empty if
// the route or the rule does not exist.
func (r *policyRules) runPolicies(c *memo.Ctx, key ruleKey) *levelOut {
	object, _ := r.in.routes.Get(c, key.Route)
	if object == nil {
		return &levelOut{}
	}
	if route.IsStream(key.Route) {
		return r.streamLevel(c, object)
	}
	rules := route.Rules(object)
	if key.Rule >= len(rules) {
		return &levelOut{}
	}
	at := &attachments{}
	if r.aims.any(c, key.Route) {
		at = r.aims.at.Get(c, key.Route)
	}
	rule := &api.HTTPRouteRule{}
	if key.Rule != plainRule {
		rule = &rules[key.Rule]
		if len(rules) > 1 && len(at.Aims) > 1 && plain(key.Route.Namespace, rule, at) {
			return r.policies.Get(c, ruleKey{key.Route, plainRule})
		}
	}
	out, gathered := &levelOut{}, r.gathering(c)
	for i, filter := range rule.Filters {
		if of, ok := extension(key.Route.Namespace, filter); ok && !gathered.add(of, policy.ByExtension) {
			gathered.close(out.missing(key, i, r.in.absentHere(c, of)), false)
		}
	}
	gathered.attach(at, api.Text(rule.Name), route.Sections(object), r.aims.kind)
	r.closeForPlugin(c, gathered, object)
	out.Writes = gathered.writes
	priority, _ := policy.StrategyOf(object.Value.GetAnnotations())
	out.Level = policy.NewLevel(gathered.specs, priority, route.CompareOrigins)
	if out.Closed = gathered.closed; out.Closed == nil {
		extras := policy.Resolve([]policy.Level{out.Level}).Extras()
		r.in.connect(c, extras)
		out.Burden = policyBurden(extras, object.Source == manifest.OtherFile)
	}
	return out
}

// streamLevel returns the policies of a TCPRoute, TLSRoute or UDPRoute, which has only one rule.
func (r *policyRules) streamLevel(c *memo.Ctx, object *manifest.Object) *levelOut {
	out, gathered, section, sections := &levelOut{}, r.gathering(c), "", route.Sections(object)
	if len(sections) > 0 {
		section = sections[0]
	}
	gathered.attach(r.aims.at.Get(c, object.Key), section, sections, r.aims.kind)
	out.Level = policy.NewLevel(gathered.specs, policy.ShallowMergePreferChild, route.CompareOrigins)
	if out.Closed = gathered.closed; out.Closed == nil {
		out.Burden = policyBurden(policy.Resolve([]policy.Level{out.Level}).Extras(), object.Source == manifest.OtherFile)
	}
	return out
}

// policyBurden returns what extras add to the cost of each match of a rule. For the parameter outside, see
// route.ExtrasBurden.
func policyBurden(extras *ir.Extras, outside bool) route.PolicyBurden {
	x := extras.OrNone()
	return route.PolicyBurden{
		Burden: route.ExtrasBurden(extras, outside), CORS: x.CORS != nil, Preflight: route.ExtrasBurden(&ir.Extras{CORS: x.CORS, ACL: x.ACL}, outside),
	}
}

// plain reports whether a rule has no policies of its own: no filter of the rule names a policy, and no policy
// targets the rule by sectionName. The parameter at has the policies that target the route and its rules. The
// parameter namespace is the namespace of the route.
func plain(namespace string, rule *api.HTTPRouteRule, at *attachments) bool {
	for _, filter := range rule.Filters {
		if _, ok := extension(namespace, filter); ok {
			return false
		}
	}
	return rule.Name == nil || !slices.ContainsFunc(at.Aims, func(one *policyTarget) bool {
		return slices.ContainsFunc(one.Targets, func(t store.Target) bool { return t.Section == string(*rule.Name) })
	})
}

// missing adds the problem that a filter of a rule names a TrafficPolicy that does not exist. It returns the reason
// why the rule answers 500. The parameter key is the rule, filter is the index of the filter in the rule, and
// absent says what is wrong with the reference.
func (out *levelOut) missing(key ruleKey, filter int, absent absence) *closing {
	problem := manifest.Problem{
		Code: "PolicyNotFound", Severity: manifest.Error, Object: key.Route,
		Field:   fmt.Sprintf("spec.rules[%d].filters[%d].extensionRef", key.Rule, filter),
		Message: absent.Message, Hint: "the rule answers 500 until it is there: " + absent.Hint,
	}
	out.Problems = append(out.Problems, problem)
	return &closing{
		Why: fmt.Sprintf("%s %s: %s", problem.Object, problem.Field, problem.Message),
		At:  ir.Part{Kind: ir.PartClosed, Object: problem.Object, Field: problem.Field},
	}
}

// extension returns the key of the TrafficPolicy that a filter names by extensionRef. If the filter names no
// TrafficPolicy, ok is false. The parameter namespace is the namespace of the route with the filter.
func extension(namespace string, filter gwv1.HTTPRouteFilter) (of manifest.Key, ok bool) {
	ref := filter.ExtensionRef
	if ref == nil || !route.IsTrafficPolicy(ref) {
		return of, false
	}
	return policyKey(namespace, string(ref.Name)), true
}

// policyKey returns the key of a TrafficPolicy.
func policyKey(namespace, name string) manifest.Key {
	return manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: namespace, Name: name}
}

// providerAbove is about the rules that delegate to the given rule: their policies may set an identity provider. It
// returns the key of the GatewayExtension that defines this provider. It returns the zero Key if these policies set
// no provider.
func (r *policyRules) providerAbove(c *memo.Ctx, rule *ir.Rule) manifest.Key {
	var levels []policy.Level
	for _, hop := range rule.Chain {
		levels = append(levels, r.policies.Get(c, ruleKey{hop.Route, hop.Rule}).Level)
	}
	resolved := policy.Resolve(levels)
	if extras := resolved.Extras(); extras != nil && extras.OAuth2 != nil {
		return extras.OAuth2.Key
	}
	return manifest.Key{}
}
