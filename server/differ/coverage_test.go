package differ

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// coverage knows which fields were set in what a request met: in the rule that took it,
// in the policies and the route that the rule was made of.
type coverage struct {
	met map[string]bool // "ir.Extras.CORS"
	// walked are the values that were looked at already.
	walked map[any]bool
}

func newCoverage() *coverage { return &coverage{met: map[string]bool{}, walked: map[any]bool{}} }

// meet notes all that a request met by its rule.
func (c *coverage) meet(rule *ir.Rule, objects map[manifest.Key]*manifest.Object) {
	if rule == nil || c.walked[rule] {
		return
	}
	c.walked[rule] = true
	c.walk(reflect.ValueOf(rule.Action))
	c.walk(reflect.ValueOf(rule.Match))
	for _, part := range rule.Action.Parts {
		if policy, ok := manifest.As[*api.TrafficPolicy](objects[part.Object]); ok {
			c.field(&policy.Spec, part.Field)
		}
	}
	c.route(objects[rule.Source.Key], rule.Position[len(rule.Position)-2])
	for _, hop := range rule.Chain {
		c.route(objects[hop.Route], hop.Rule)
	}
}

// route notes the rule of a route.
func (c *coverage) route(object *manifest.Object, index int) {
	if route, ok := manifest.As[*api.HTTPRoute](object); ok {
		c.walk(reflect.ValueOf(route.Spec.Rules[index]))
	}
	if route, ok := manifest.As[*gwv1.GRPCRoute](object); ok {
		c.walk(reflect.ValueOf(route.Spec.Rules[index]))
	}
}

// field notes the field of a policy that a path leads through, such as "spec.rateLimit.local".
func (c *coverage) field(spec *api.TrafficPolicySpec, path string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "spec."), ".")
	value := reflect.ValueOf(*spec)
	c.walk(reflect.ValueOf(api.TrafficPolicySpec{TargetRefs: spec.TargetRefs, TargetSelectors: spec.TargetSelectors}))
	for i := range value.NumField() {
		if tag, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ","); tag == name {
			c.met[fieldName(value.Type(), i)] = true
			c.walk(value.Field(i))
		}
	}
}

// walk notes the fields that are set in a value and below.
func (c *coverage) walk(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			c.walk(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			c.walk(value.Index(i))
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if ours(value.Type()) && !value.Field(i).IsZero() {
				c.met[fieldName(value.Type(), i)] = true
				c.walk(value.Field(i))
			}
		}
	}
}

// fieldName is "ir.Extras.CORS".
func fieldName(of reflect.Type, i int) string {
	name := of.String()
	if strings.HasPrefix(of.PkgPath(), "sigs.k8s.io/gateway-api/") {
		name = "gw" + name
	}
	return name + "." + of.Field(i).Name
}

// ours reports whether the fields of a struct count: it is of ir, of our API or of the
// Gateway API.
func ours(t reflect.Type) bool {
	path := t.PkgPath()
	return strings.HasPrefix(path, "github.com/gatefold/") && path != "github.com/gatefold/gatefold/store" || strings.HasPrefix(path, "sigs.k8s.io/gateway-api/")
}

// fields are the names of all fields of a type and below.
func fields(t reflect.Type, into map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		fields(t.Elem(), into)
	case reflect.Struct:
		for i := range t.NumField() {
			if name := fieldName(t, i); ours(t) && !into[name] {
				into[name] = true
				fields(t.Field(i).Type, into)
			}
		}
	}
}

// check fails for each field that no request met, but for those that cannot be met.
func (c *coverage) check(t *testing.T) {
	t.Helper()
	all := map[string]bool{}
	for _, of := range []any{ir.Action{}, ir.Match{}, api.TrafficPolicySpec{}, api.HTTPRouteRule{}, gwv1.GRPCRouteRule{}} {
		fields(reflect.TypeOf(of), all)
	}
	exempt := exempted()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		why, isExempt := reason(exempt, name)
		switch {
		case !c.met[name] && !isExempt:
			t.Errorf("%s is never exercised: no request met a rule, a policy or a filter that sets it. Add it to the generator (filters_test.go, policies_test.go, routes_test.go), or to exempted with a reason.", name)
		case c.met[name] && isExempt:
			t.Errorf("%s is exempted (%s), but requests meet it: remove it from exempted", name, why)
		}
	}
	for name := range exempt {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(field string) bool { return field == name || strings.HasPrefix(field, name+".") }) {
			t.Errorf("%s is exempted and no field: remove it from exempted", name)
		}
	}
	t.Logf("%d fields, %d of them exempted", len(all), len(exempt))
}

// reason says why a field, or its struct, cannot be met.
func reason(exempt map[string]string, name string) (string, bool) {
	if why, ok := exempt[name]; ok {
		return why, true
	}
	of := name[:strings.LastIndexByte(name, '.')]
	why, ok := exempt[of]
	return why, ok
}

// exempted are the fields, and the structs, that no request can meet, and why.
func exempted() map[string]string {
	const noBody = "not served: the policy is invalid"
	return map[string]string{
		"api.Transform.Body": noBody, "api.BodyTransform": noBody,
		"api.SecretRef.Group":                    "it has one value, which means nothing",
		"api.SecretRef.Kind":                     "it has one value, which means nothing",
		"api.SecretSelector.Namespace":           "it is no field of the API",
		"ir.JWT.Rejected":                        "Envoy takes every provider that is sent to it",
		"ir.Extras.Portless":                     "xds sets it while it encodes a redirect",
		"ir.Extras.Preflight":                    "xds sets it while it encodes a rule for preflight requests",
		"api.ACLDenyResponse.AddBlockedByHeader": "the old name of BlockedByHeaderName: the case policy-acl-forwarded",
		"api.ACLRule.Response":                   "no manifest has it: a merge sets it",
		"ir.ACLRule.Response":                    "a merge by DeepMergePreferParent sets it: the case policy-acl-merge",
		"ir.Extras.Replaced":                     "the View has the policies of the host merged into its rules",
		"ir.Redirect.PortLessIn":                 "a route on one port number of both protocols sets it, by two Gateways: the case filter-redirect-port",
	}
}
