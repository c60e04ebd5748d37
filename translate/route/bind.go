package route

import (
	"fmt"
	"strconv"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// weightAnnotation is the annotation of EP-11466 for the weight of a route.
const weightAnnotation = "kgateway.dev/route-weight"

// readWeight sets b.weight from the weight annotation of the route, if there is one (EP-11466). An invalid weight
// counts as 0 and is reported. If the parameter weighted is false, weights are off. readWeight then only warns that
// the annotation has no effect.
func (b *builder) readWeight(weighted bool) {
	text, ok := b.object.Value.GetAnnotations()[weightAnnotation]
	if !ok {
		return
	}
	field := "metadata.annotations[" + weightAnnotation + "]"
	if !weighted {
		b.problem(manifest.Warning, "RouteWeightIgnored", field, "route weights are off: the annotation has no effect",
			"start gatefold with --weighted-route-precedence, or KGW_WEIGHTED_ROUTE_PRECEDENCE=true")
		return
	}
	weight, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		message := fmt.Sprintf("the route weight %q is not a whole number of 32 bits; it counts as 0", text)
		b.problem(manifest.Error, "InvalidValue", field, message, "write a number from -2147483648 to 2147483647, in quotes")
		b.flat.Unserved(field + ": " + message)
		return
	}
	b.weight = int32(weight)
	if b.origin.Outside { // the lowest weight is that of rules that gatefold makes
		b.weight = max(b.weight, WeightOfClosed+1)
	}
}

// ignoreWeight warns if a GRPCRoute has a weight annotation. The annotation has no effect there: weights order only
// HTTPRoutes (EP-11466, Non-Goals).
func (b *builder) ignoreWeight() {
	if _, ok := b.object.Value.GetAnnotations()[weightAnnotation]; ok {
		b.problem(manifest.Warning, "RouteWeightIgnored", "metadata.annotations["+weightAnnotation+"]",
			"weights order HTTPRoutes alone: the annotation has no effect", "take it out")
	}
}

// bind sets b.links to the links (see Link) under which the rules of a child route are placed. If a rule of the
// child conflicts with a parent that the child names (GEP-1058, Binding Parent and Child Routes), bind sets
// b.flat.Conflict and leaves out all Included links. Delegated links always stay.
func (b *builder) bind(route *api.HTTPRoute, links []Link) {
	b.links = links
	if conflict := includeConflict(route, links); conflict != "" {
		b.flat.Conflict = conflict
		b.links = []Link{}
		for _, link := range links {
			if link.Mode != Included {
				b.links = append(b.links, link)
			}
		}
	}
}

// includeConflict returns, as text, why the rules of a route cannot be included below a parent that the route itself
// names (a link with the mode Included). The text is the first conflict that ruleConflict finds, or "" if there is
// none.
func includeConflict(route *api.HTTPRoute, links []Link) string {
	for _, link := range links {
		if link.Mode != Included {
			continue
		}
		for i := range route.Spec.Rules {
			if conflict := ruleConflict(link, i, &route.Spec.Rules[i]); conflict != "" {
				return conflict
			}
		}
	}
	return ""
}

// ruleConflict returns why a rule of a child cannot be included below the parent's match that the link leads to.
// Either a match of the rule cannot be combined with the parent's match (see Combine), or a filter conflicts with a
// delegating rule above (see filterConflict). The parameter i is the index of the rule. ruleConflict returns "" if
// there is no conflict.
func ruleConflict(link Link, i int, rule *api.HTTPRouteRule) string {
	for j := range rule.Matches {
		if _, refused := Combine(link, httpMatch(&rule.Matches[j])); refused != "" {
			return fmt.Sprintf("spec.rules[%d].matches[%d]: %s", i, j, refused)
		}
	}
	for _, level := range link.Point.Levels {
		if conflict := filterConflict(level, rule.Filters); conflict != "" {
			return fmt.Sprintf("spec.rules[%d].filters: %s", i, conflict)
		}
	}
	return ""
}

// filterConflict returns why an included child's rule with these filters cannot be below a delegating rule. The
// parameter level has the filters of the delegating rule. There is a conflict if the delegating rule redirects, or
// if both rules have a filter that only one of them may have (docs/design/routes.md). filterConflict returns "" if
// there is no conflict.
func filterConflict(level Level, filters []gwv1.HTTPRouteFilter) string {
	if level.Action.Redirect != nil {
		return "the parent's rule redirects, so that no request can reach a child"
	}
	for _, f := range filters {
		if row := partOf(string(f.Type)); row.conflicts != nil && row.conflicts(level.Action) {
			return string(f.Type) + " stands on the parent's rule too"
		}
	}
	return ""
}
