package route

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// place is one match of a rule at one position in the delegation tree. The field link leads to the match of a
// parent's rule above. It is nil directly below the Gateway. The fields rule and match are indexes in the route, and
// section is the name of the rule. The field matcher is the match of the rule, combined with the parent's match.
type place struct {
	rule, match int
	section     string
	matcher     ir.Match
	link        *Link
}

// places returns the positions in the delegation tree at which the rule with index i serves. In a root route, each
// match of the rule has one position. Matches with a PathPostfix have none, because only a child can have a
// PathPostfix. In a child route, each pair of a parent's match and a match of the rule has one position, if the two
// matches can be combined. If a child's match can be combined with no parent's match, it is added to b.flat.Missed.
func (b *builder) places(i int, rule *api.HTTPRouteRule, matches []ir.Match) []place {
	var out []place
	for j := range matches {
		own := place{rule: i, match: j, section: Section(rule.Name), matcher: matches[j]}
		if b.links == nil {
			out = b.appendRoot(out, own)
		}
		out = b.appendLinked(out, own)
	}
	return out
}

// appendRoot appends the parameter own to the list out. The parameter own is the position of a root's match, which is
// directly below the Gateway. If the match has a path of type PathPostfix, which only a child route can have,
// appendRoot does not append the position. It then reports an error at the path, but only if the route is served on a
// port (b.port is not 0).
func (b *builder) appendRoot(out []place, own place) []place {
	if own.matcher.Path.Kind != ir.PathPostfix {
		return append(out, own)
	}
	if b.port != 0 {
		b.problem(manifest.Error, "UnsupportedValue", fmt.Sprintf("spec.rules[%d].matches[%d].path.type", own.rule, own.match),
			"PathPostfix has a meaning below a parent route only", "use PathPrefix or RegularExpression, or attach the route to an HTTPRoute with allowedRoutes")
	}
	return out
}

// appendLinked appends the positions of a child's match to the list out. The parameter own has the child's match,
// before it is combined. b.links lead to the matches of the parents. The child's match has one position below each
// parent's match with which it can be combined. appendLinked records these parents' matches in b.flat.Live, and warns
// of values in the child's match that have no effect. If the child's match can be combined with no parent's match,
// appendLinked adds the child's match to b.flat.Missed. For a root, which has no links, it returns out.
func (b *builder) appendLinked(out []place, own place) []place {
	var missed []string
	placed := len(out)
	for k := range b.links {
		link := &b.links[k]
		combined, refused := Combine(*link, own.matcher)
		if refused != "" {
			missed = append(missed, refused)
			continue
		}
		b.placeUnder(link.Point)
		b.overruled(own, link)
		out = append(out, place{own.rule, own.match, own.section, combined, link})
	}
	if len(out) > placed || len(missed) == 0 {
		return out
	}
	miss := Miss{fmt.Sprintf("spec.rules[%d].matches[%d]", own.rule, own.match), missed[0]}
	if more := len(missed) - 1; more > 0 {
		miss.Why += fmt.Sprintf(" (nor does it fit %d other matches of the parent)", more)
	}
	b.flat.Missed = append(b.flat.Missed, miss)
	return out
}

// placeUnder records in b.flat.Live that the route has something below a match of its parent: a rule, or a match that
// delegates. The parameter parent is the Point of the parent's match. If that is recorded already, placeUnder does
// nothing.
func (b *builder) placeUnder(parent *Point) {
	if b.live[parent.Name] {
		return
	}
	if b.live == nil {
		b.live = map[string]bool{}
	}
	b.live[parent.Name] = true
	b.flat.Live = append(b.flat.Live, parent.Name)
}

// overruled warns if a child that inherits the parent's match (Link.Inherit) has another value than the parent for
// the method, or for a header or query parameter of the same name. The child's value then has no effect. The
// parameter own has the match of the child, before it is combined.
func (b *builder) overruled(own place, link *Link) {
	if link.Mode == Included || !link.Inherit {
		return
	}
	parent := link.Point.Matcher
	warn := func(field string) {
		b.problem(manifest.Warning, "ParentMatchWins", fmt.Sprintf("spec.rules[%d].matches[%d].%s", own.rule, own.match, field),
			"the match of the parent differs, and wins", "take it out, or write what the parent has")
	}
	if parent.Method != "" && own.matcher.Method != "" && parent.Method != own.matcher.Method {
		warn("method")
	}
	if contradicts(parent.Headers, own.matcher.Headers) {
		warn("headers")
	}
	if contradicts(parent.Query, own.matcher.Query) {
		warn("queryParams")
	}
}

// loosens warns if the filter ExternalAuth of a rule replaces the ExternalAuth of a delegating rule above. Requests
// are then not checked as the parent route demands. The parameter own is the action of the rule, and the parameter
// link connects the rule's route to its parent (nil for a root). If one of the delegating rules above has
// ExternalAuth and is preferred, its filter wins, and there is no warning.
func (b *builder) loosens(link *Link, own *ir.Action) {
	at := slices.IndexFunc(own.Parts, func(p ir.Part) bool { return p.Kind == ir.PartExternalAuth })
	if link == nil || own.ExternalAuth == nil || at < 0 {
		return
	}
	levels := slices.DeleteFunc(link.levels(), func(l Level) bool { return l.Action.ExternalAuth == nil })
	if len(levels) == 0 || slices.ContainsFunc(levels, func(l Level) bool { return l.Priority.Prefers(ir.FieldExtAuth) }) {
		return
	}
	loosening := policy.Loosening{Field: ir.FieldExtAuth, Filter: true, Child: b.origin.Key, At: own.Parts[at].Field}
	for _, p := range levels[len(levels)-1].Action.Parts {
		if p.Kind == ir.PartExternalAuth {
			loosening.Parent = p.Object
		}
	}
	if problem := loosening.Problem(); !slices.Contains(b.flat.Problems, problem) {
		b.flat.Problems = append(b.flat.Problems, problem)
	}
}

// newRule returns the ir.Rule for one match of a rule at one position in the delegation tree (the parameter p). It
// merges the action of the rule with the settings of the delegating rules above (see underLevels).
func (b *builder) newRule(p place, action ir.Action) *ir.Rule {
	rule := &ir.Rule{
		Match: p.matcher, Source: b.origin, Root: b.origin, Section: p.section, Position: []int{p.rule, p.match},
		Name:   fmt.Sprintf("%s/%s/%s/%d/%d", b.origin.Key.Kind, b.origin.Key.Namespace, b.origin.Key.Name, p.rule, p.match),
		Weight: b.weight,
	}
	rule.Match.Hosts = b.hosts.Names()
	prefix := p.matcher.Path
	if p.link != nil {
		point := p.link.Point
		rule.Root, rule.Chain, rule.Blocks = point.Root, point.Chain, point.Rest.Blocks
		rule.Ref = p.link.Ref
		rule.Name = fmt.Sprintf("%s>%s/%s/%d/%d", point.Name, b.origin.Key.Namespace, b.origin.Key.Name, p.rule, p.match)
		action = underLevels(action, p.link.levels())
		if prefix.Kind == ir.PathRegex && point.Matcher.Path.Kind == ir.PathPrefix {
			prefix = point.Matcher.Path
		}
	}
	rule.Action = below(action, prefix)
	return rule
}

// Delegates reports whether a rule of the route delegates requests to other routes.
func Delegates(object *manifest.Object) bool {
	route, ok := manifest.As[*api.HTTPRoute](object)
	return ok && slices.ContainsFunc(route.Spec.Rules, func(rule api.HTTPRouteRule) bool { return (&builder{}).delegates(&rule) })
}

// delegates reports whether a rule delegates requests to other routes.
func (b *builder) delegates(rule *api.HTTPRouteRule) bool {
	return rule.AllowedRoutes != nil || slices.ContainsFunc(rule.BackendRefs, b.toRoutes)
}

// toRoutes reports whether a backendRef selects routes. It returns false in a GRPCRoute, which does not delegate.
func (b *builder) toRoutes(ref gwv1.HTTPBackendRef) bool { return !b.grpc && toRoutes(ref) }

// delegate translates the delegating rule with index i. It adds one Point to b.flat.Points for each match of the rule
// at each position in the delegation tree (see places). The rules of child routes are placed below a Point. The
// result ok is false if a filter of the rule cannot be applied. Then all rules of child routes below answer 500.
func (b *builder) delegate(i int, rule *api.HTTPRouteRule, matches []ir.Match) (ok bool) {
	at := fmt.Sprintf("spec.rules[%d]", i)
	a := &actionBuilder{builder: b, rule: Section(rule.Name)}
	ok = a.filters(at+".filters", rule.Filters, onRule)
	a.timeouts(at, rule)
	priority, _ := policy.StrategyOf(b.object.Value.GetAnnotations())
	level := Level{Action: &a.action, Priority: priority, Closed: !ok}
	rest, guarded := b.rest(at, rule, level)
	selectors := b.selectors(at, rule)
	for _, p := range b.places(i, rule, matches) {
		point := &Point{
			Rule: p.rule, Match: p.match, RuleName: p.section, Matcher: p.matcher, Root: b.origin,
			Selectors: selectors, Allowed: rule.AllowedRoutes,
		}
		b.loosens(p.link, level.Action)
		point.Rest = b.newRule(p, rest)
		if b.blocks {
			point.Rest.Blocks = append(slices.Clip(point.Rest.Blocks), blockOf(point.Rest))
		}
		point.Rest.Guard, point.Rest.Weight = true, 0
		point.Guarded = guarded
		point.Name, point.Root = point.Rest.Name, point.Rest.Root
		hop := ir.Hop{Route: b.origin.Key, Created: b.origin.Created, Ref: point.Rest.Ref, Rule: p.rule, Match: p.match, Section: p.section, Included: rule.AllowedRoutes != nil, Outside: b.origin.Outside}
		point.Chain = append(slices.Clone(point.Rest.Chain), hop)
		if p.link != nil {
			point.Levels = p.link.levels()
		}
		point.Levels = append(point.Levels, level)
		b.flat.Points = append(b.flat.Points, point)
	}
	return ok
}

// blockOf returns the block of a delegating match. A block is a Rule that stands for the match when rules are sorted:
// all rules below the match stay together at the position of the block (see ir.Rule.Blocks). The parameter rule is
// the rule for requests that match, but that no child route serves (Point.Rest). The block is a copy of this rule
// with only the fields that Compare reads, such as Match and Weight.
func blockOf(rule *ir.Rule) *ir.Rule {
	block := *rule
	block.Section, block.Blocks, block.Action = "", nil, ir.Action{} // these do not affect the order
	return &block
}

// rest returns the action for requests that match a delegating rule, but no rule of a child. The action sends the
// requests to the backends of the delegating rule. It answers 500 if there is no backend that can get requests, or if
// a filter of the rule cannot be applied (level.Closed). The parameter at is the path of the rule.
//
// The result guarded is true if the rule has backendRefs to backends, even if they cannot be resolved. The action is
// then served even if children have rules below the match (see Point.Guarded and
// docs/design/kgateway.md#what-answers-when-something-is-wrong).
func (b *builder) rest(at string, rule *api.HTTPRouteRule, level Level) (action ir.Action, guarded bool) {
	guarded = slices.ContainsFunc(rule.BackendRefs, func(ref gwv1.HTTPBackendRef) bool { return !b.toRoutes(ref) })
	if level.Closed || !guarded {
		b.reportOnly(func(unused *actionBuilder) { unused.forward(at, rule.BackendRefs) })
		return ir.Action{Respond: &ir.Respond{Status: 500}}, guarded
	}
	a := &actionBuilder{builder: b, action: *level.Action}
	a.forward(at, rule.BackendRefs)
	return a.action, true
}

// selectors returns the Selectors of a rule: one for each backendRef that selects routes
// (docs/design/kgateway.md#how-a-child-is-chosen). It also warns of fields of these backendRefs that have no effect.
func (b *builder) selectors(at string, rule *api.HTTPRouteRule) []Selector {
	var out []Selector
	for i, ref := range rule.BackendRefs {
		if !b.toRoutes(ref) {
			continue
		}
		b.ignored(fmt.Sprintf("%s.backendRefs[%d]", at, i), ref)
		p, _ := Wanted(ref, b.origin.Key.Namespace, b.wildcard)
		out = append(out, Selector{p.Form, p.Namespace, p.Value, i})
	}
	return out
}

// ignored warns of fields that have no effect in a backendRef that selects routes.
func (b *builder) ignored(at string, ref gwv1.HTTPBackendRef) {
	warn := func(field string) {
		b.problem(manifest.Warning, "DelegatedRefField", at+"."+field, field+" has no effect on a reference to routes", "take it out")
	}
	if ref.Weight != nil && *ref.Weight != 1 { // the schema's default is 1
		warn("weight")
	}
	if ref.Port != nil {
		warn("port")
	}
	if len(ref.Filters) > 0 {
		warn("filters")
	}
}
