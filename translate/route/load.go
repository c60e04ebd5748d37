package route

import (
	"reflect"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// bytesPerUnit is how many bytes of text cost Envoy as much as one plain route.
	bytesPerUnit = 512
	// bytesPerItem is the extra cost, in bytes, of each item of a list. In Envoy each item is an object.
	bytesPerItem = 64
	// unitsPerRegex is the fixed cost of a regular expression. The unit is the cost of one plain route. In addition,
	// every memoryPerUnit bytes that the expression needs in Envoy's memory cost one unit, because Envoy needs so much for
	// a plain route (TestTheirMemoryHasItsPrice). Envoy compiles the expressions of all routes whenever their
	// RouteConfiguration changes (docs/scale.md#limits).
	unitsPerRegex = 3
	memoryPerUnit = 1280
	// unitsPerAuth is the fixed cost of a filter ExternalAuth, in plain routes. textsPerAuth is how often the texts
	// of the filter are sent to Envoy. Envoy builds these filters for all routes whenever their RouteConfiguration
	// changes.
	unitsPerAuth = 8
	textsPerAuth = 4
	// freeWritten is how much the first copy of a match may cost without counting toward the limit, in plain routes.
	freeWritten = 8
)

// Burden is a part of a route's cost in Envoy: what a match, the settings of a rule, or the policies of the rule
// add to the cost.
type Burden struct {
	Bytes int // the size of texts and lists
	Units int // the cost of regular expressions and filters; the unit is the cost of one plain Envoy route
}

// Plus returns the sum of two Burdens.
func (b Burden) Plus(other Burden) Burden {
	return Burden{b.Bytes + other.Bytes, b.Units + other.Units}
}

// Cost returns the cost of the Burden in Envoy. The unit is the cost of one plain Envoy route.
func (b Burden) Cost() int { return b.Units + b.Bytes/bytesPerUnit }

// Load is the size and cost of a route in one RouteConfiguration of Envoy. The unit of Written and Made is the
// cost of one plain Envoy route.
type Load struct {
	// Matches is the number of matches of all rules. A rule without matches counts as one match.
	Matches int
	// Written is the cost of the route as the user writes it: each match once, and the settings of each rule once with
	// its first match. Of each match, at most freeWritten counts, so that a costly match is not free.
	// Made is the cost of the routes in Envoy: the settings and policies of a rule are repeated for each match.
	Written, Made int
}

// PolicyBurden is what TrafficPolicies add to the cost of each match of a rule.
type PolicyBurden struct {
	Burden
	// CORS is true if the policies set cors. Preflight is what they add to the rule for preflight requests of a match
	// (ir.Rule.Preflight).
	CORS      bool
	Preflight Burden
}

// LoadOf returns the Load (number of matches and cost in Envoy) of a root route without building its rules. The
// function policies returns what TrafficPolicies add to the cost of each match of the rule with the given index. A
// TCPRoute, TLSRoute or UDPRoute counts as one match. Rules for preflight requests count as made if the route or its
// policies have CORS. For an object outside of cluster paths under path policies, regular expressions cost what requests
// can make of them (see regexUnits).
func LoadOf(object *manifest.Object, policies func(rule int) PolicyBurden) Load {
	rules := Rules(object)
	if rules == nil { // a TCPRoute, TLSRoute or UDPRoute
		return Load{Matches: 1, Written: 1, Made: 1 + policies(0).Cost()}
	}
	var out Load
	outside := object.Source == manifest.OtherFile
	for i := range rules {
		own, added := ruleBurden(&rules[i]), policies(i)
		filter := corsBurden(&rules[i])
		first := own
		for _, match := range matchesOf(object, i) {
			alone := matchBurden(&match, outside)
			out.Matches++
			out.Written += min(freeWritten, 1+alone.Plus(first).Cost())
			first = Burden{}
			out.Made += 1 + alone.Plus(own).Plus(added.Burden).Cost()
			if _, preflight, needed := match.Preflight(); needed && (added.CORS || filter != (Burden{})) {
				out.Made += 1 + matchBurden(&preflight, outside).Plus(filter).Plus(added.Preflight).Cost()
			}
		}
	}
	return out
}

// matchesOf returns the matches of one rule of an HTTPRoute or GRPCRoute. It returns nil for other kinds.
func matchesOf(object *manifest.Object, rule int) []ir.Match {
	switch route := object.Value.(type) {
	case *api.HTTPRoute:
		return httpMatches(route.Spec.Rules[rule].Matches)
	case *gwv1.GRPCRoute:
		return grpcMatches(route.Spec.Rules[rule].Matches)
	}
	return nil
}

// ruleBurden returns the part of a rule's cost in Envoy that comes from its filters and backendRefs. The rule has
// this cost once for each of its matches.
func ruleBurden(rule *api.HTTPRouteRule) Burden {
	out := burdenOf(reflect.ValueOf(rule.Filters), false).Plus(burdenOf(reflect.ValueOf(rule.BackendRefs), false))
	for i := range rule.Filters {
		if auth := rule.Filters[i].ExternalAuth; auth != nil {
			texts := burdenOf(reflect.ValueOf(auth), false)
			out = out.Plus(Burden{Bytes: (textsPerAuth - 1) * texts.Bytes, Units: unitsPerAuth})
		}
	}
	return out
}

// corsBurden returns the part of a rule's cost that comes from its filter CORS. It is zero if the rule has none.
func corsBurden(rule *api.HTTPRouteRule) (out Burden) {
	for i := range rule.Filters {
		if cors := rule.Filters[i].CORS; cors != nil {
			out = out.Plus(burdenOf(reflect.ValueOf(cors), false)).Plus(Burden{Bytes: bytesPerItem})
		}
	}
	return out
}

// matchBurden returns the Burden of a match: what the match adds to the cost of a route in Envoy. The match's Method,
// Hosts and Within are not counted. For the parameter outside, see regexUnits.
func matchBurden(match *ir.Match, outside bool) Burden {
	out := Burden{Bytes: len(match.Path.Value)}
	if match.Path.Kind == ir.PathRegex || match.Path.Kind == ir.PathPostfix {
		out.Units += regexUnits(match.Path.Value, outside)
	}
	for _, v := range match.Headers {
		v.Regex = v.Regex && v.Value != ir.AnyValue // Envoy gets no expression for a header of any value
		out = out.Plus(valueBurden(v, outside))
	}
	for _, v := range match.Query {
		out = out.Plus(valueBurden(v, outside))
	}
	return out
}

// valueBurden returns the Burden of a condition of a match. For the parameter outside, see regexUnits.
func valueBurden(v ir.ValueMatch, outside bool) Burden {
	out := Burden{Bytes: bytesPerItem + len(v.Name) + len(v.Value)}
	if v.Regex {
		out.Units = regexUnits(v.Value, outside)
	}
	return out
}

// RuleCost returns the cost of a rule in Envoy. The unit is the cost of one plain Envoy route. The parameter
// encoded is the size in bytes of the rule's encoding.
func RuleCost(rule *ir.Rule, encoded int) int {
	outside := rule.Source.Outside
	units := matchBurden(&rule.Match, outside).Units + ExtrasBurden(rule.Action.Extras, outside).Units
	if rule.Action.ExternalAuth != nil {
		units += unitsPerAuth
	}
	return 1 + Burden{encoded, units}.Cost()
}

// ExtrasBurden returns the part of a rule's cost in Envoy that comes from policies. The rule has this cost once for
// each of its matches. For the parameter outside, see regexUnits.
func ExtrasBurden(extras *ir.Extras, outside bool) Burden {
	return burdenOf(reflect.ValueOf(extras), outside)
}

// burdenOf returns the Burden of all texts, list items, map entries and regular expressions in a value. For the
// parameter outside, see regexUnits.
func burdenOf(v reflect.Value, outside bool) (out Burden) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return burdenOf(v.Elem(), outside)
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = out.Plus(burdenOf(v.Index(i), outside)).Plus(Burden{Bytes: bytesPerItem})
		}
	case reflect.Map:
		for of := v.MapRange(); of.Next(); {
			out = out.Plus(burdenOf(of.Key(), outside)).Plus(burdenOf(of.Value(), outside)).Plus(Burden{Bytes: bytesPerItem})
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out = out.Plus(burdenOf(v.Field(i), outside))
		}
		if m, ok := reflect.TypeAssert[ir.StringMatch](v); ok && m.Kind == ir.StringRegex {
			out.Units += regexUnits(m.Value, outside)
		}
		if rbac, ok := reflect.TypeAssert[ir.RBAC](v); ok && outside {
			out.Units += rbacUnits(&rbac)
		}
	case reflect.String:
		out.Bytes = v.Len()
		if v.Type() == reflect.TypeFor[gwv1.CORSOrigin]() && strings.Contains(v.String(), "*") {
			out.Units = unitsPerRegex // policy.CORS makes a regular expression of the origin
		}
	}
	return out
}

// regexUnits returns the cost of a regular expression in Envoy. The unit is the cost of one plain Envoy route. An
// invalid expression has only the fixed cost. The parameter outside is true for an object outside of cluster paths under
// path policies: whoever writes it may send requests that make Envoy keep more for the expression, so that the cost
// includes it. Other writers are trusted not to, and a costly expression of theirs closes nothing.
func regexUnits(pattern string, outside bool) int {
	if outside {
		return unitsPerRegex + counted.MemoryBytes(pattern)/memoryPerUnit
	}
	return unitsPerRegex + counted.ProgramBytes(pattern)/memoryPerUnit
}

// rbacUnits returns the cost of the regular expressions that the expressions of rbac compare with. Envoy keeps them as
// those of matches. The unit is the cost of one plain Envoy route. The policy is one outside of cluster paths under path
// policies (see regexUnits).
func rbacUnits(rbac *ir.RBAC) (units int) {
	for _, text := range rbac.Expressions {
		parsed, err := counted.ParseCEL(text)
		if err != nil {
			continue // it is not sent to Envoy
		}
		for _, pattern := range counted.PatternsOf(parsed.NativeRep().Expr()) {
			units += regexUnits(pattern, true)
		}
	}
	return units
}
