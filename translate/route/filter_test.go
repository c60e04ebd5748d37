package route

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
)

// notServed are the filters of the Gateway API that close their rule, as
// docs/reference/kinds.md says.
func notServed() []string { return nil }

// Every filter that the Gateway API has for HTTPRoutes is read, or is known not to be. Its
// struct has a field of the name of each type.
func TestEveryFilterOfTheAPIHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, p := range parts() {
		if rows[p.kind] {
			t.Errorf("parts has two rows for %s", p.kind)
		}
		rows[p.kind] = true
	}
	of := reflect.TypeFor[gwv1.HTTPRouteFilter]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		if name == "Type" {
			continue
		}
		if rows[name] == slices.Contains(notServed(), name) {
			t.Errorf("HTTPRouteFilter.%s: has a row %t, want it unless it is in notServed: add a row to parts in "+
				"translate/route/filter.go (ARCHITECTURE.md, Where to add)", name, rows[name])
		}
		delete(rows, name)
	}
	if rest := slices.Sorted(maps.Keys(rows)); !slices.Equal(rest, []string{ir.PartRetry, ir.PartTimeouts}) {
		t.Errorf("parts has rows for %v, which are no filters", rest)
	}
}

// A GRPCRoute's filter is read as that of an HTTPRoute, with all of its fields.
func TestEveryFilterOfGRPCIsRead(t *testing.T) {
	of := reflect.TypeFor[gwv1.GRPCRouteFilter]()
	for i := range of.NumField() {
		from := gwv1.GRPCRouteFilter{}
		value := reflect.ValueOf(&from).Elem().Field(i)
		if value.Kind() == reflect.Pointer {
			value.Set(reflect.New(value.Type().Elem()))
		} else {
			value.SetString("x")
		}
		if reflect.ValueOf(grpcFilters([]gwv1.GRPCRouteFilter{from})[0]).IsZero() {
			t.Errorf("GRPCRouteFilter.%s is lost: copy it in grpcFilters in translate/route/filter.go", of.Field(i).Name)
		}
	}
}

// allOf returns an action that sets each field that a delegating rule can set, with the kind
// of the part that it is of.
func allOf() (action ir.Action, kinds map[string]string) {
	hour, mods := time.Hour, &ir.HeaderMods{Remove: []string{"a"}}
	action = ir.Action{
		RequestHeaders: mods, ResponseHeaders: mods, Rewrite: &ir.Rewrite{Hostname: "a.test"}, Mirrors: []ir.Mirror{{Cluster: "m"}},
		RequestTimeout: &hour, BackendTimeout: &hour, Retry: &ir.Retry{Attempts: 1}, CORS: &ir.CORS{MaxAge: 1}, ExternalAuth: &ir.ExtAuth{},
	}
	return action, map[string]string{
		"RequestHeaders": "RequestHeaderModifier", "ResponseHeaders": "ResponseHeaderModifier", "Rewrite": "URLRewrite",
		"Mirrors": "RequestMirror", "RequestTimeout": ir.PartTimeouts, "BackendTimeout": ir.PartTimeouts, "Retry": ir.PartRetry, "CORS": "CORS", "ExternalAuth": ir.PartExternalAuth,
	}
}

// What a delegating rule sets reaches the rules below it, with its part, whichever of both is
// preferred. Fields of an action that are not handed down are named here, with the reason.
func TestEveryFieldOfAnActionIsInherited(t *testing.T) {
	notInherited := map[string]string{
		"Forward":  "the rule below has backends of its own",
		"Redirect": "a rule that redirects delegates nothing",
		"Respond":  "a level that cannot be served is Closed",
		"Extras":   "policies are merged by package policy",
		"Parts":    "they are merged with what they are parts of",
	}
	all, kinds := allOf()
	of := reflect.TypeOf(all)
	for i := range of.NumField() {
		name := of.Field(i).Name
		if _, exempt := notInherited[name]; exempt {
			continue
		}
		if reflect.ValueOf(all).Field(i).IsZero() {
			t.Errorf("ir.Action.%s: set it in allOf, or name it in notInherited", name)
			continue
		}
		above := ir.Action{Parts: []ir.Part{{Kind: kinds[name], Object: manifest.Key{Name: "parent"}}}}
		reflect.ValueOf(&above).Elem().Field(i).Set(reflect.ValueOf(all).Field(i))
		for _, preferParent := range []bool{false, true} {
			got := underLevels(ir.Action{}, []Level{{Action: &above, Priority: priority(preferParent)}})
			if !reflect.DeepEqual(got, above) {
				t.Errorf("ir.Action.%s of a delegating rule does not reach the rules below: got %+v. Its row of parts in "+
					"translate/route/filter.go needs inherit, and shows", name, got)
			}
		}
	}
}

// A part is shown where its value is in force: that of the preferred side alone, if both set
// a field that cannot be merged.
func TestPartsOfBothSides(t *testing.T) {
	all, kinds := allOf()
	of := reflect.TypeOf(all)
	both := []string{"RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror"}
	for i := range of.NumField() {
		name := of.Field(i).Name
		if reflect.ValueOf(all).Field(i).IsZero() {
			continue
		}
		side := func(object string) ir.Action {
			action := ir.Action{Parts: []ir.Part{{Kind: kinds[name], Object: manifest.Key{Name: object}}}}
			reflect.ValueOf(&action).Elem().Field(i).Set(reflect.ValueOf(all).Field(i))
			return action
		}
		for preferParent, first := range map[bool]string{false: "child", true: "parent"} {
			parent := side("parent")
			got := underLevels(side("child"), []Level{{Action: &parent, Priority: priority(preferParent)}}).Parts
			want := 1
			if slices.Contains(both, kinds[name]) {
				want = 2
			}
			if len(got) != want || got[0].Object.Name != first {
				t.Errorf("%s on both sides, the %s preferred: parts %+v, want %d", name, first, got, want)
			}
		}
	}
}

// priority returns a Strategy that prefers the parent, or the child.
func priority(preferParent bool) policy.Strategy {
	if preferParent {
		return policy.ShallowMergePreferParent
	}
	return policy.ShallowMergePreferChild
}
