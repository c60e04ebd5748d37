package ir_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

// Every cluster that an action names is renamed, wherever it is, and the action itself is
// not changed: other tables share it.
func TestEveryClusterOfAnActionIsRenamed(t *testing.T) {
	rule := &ir.Rule{}
	fill(reflect.ValueOf(&rule.Action).Elem())
	for path, cluster := range clusters(reflect.ValueOf(rule.Renamed(func(name string) string { return "other " + name }).Action), "ir.Action") {
		if !strings.HasPrefix(cluster, "other ") {
			t.Errorf("%s keeps its name: rename it in Action.renamed in translate/ir/action.go", path)
		}
	}
	all := clusters(reflect.ValueOf(rule.Action), "ir.Action")
	if len(all) < 5 { // a backend, a mirror, and three services
		t.Errorf("found %v alone", all)
	}
	for path, cluster := range all {
		if cluster != "c" {
			t.Errorf("%s of the action itself is changed to %q: copy what has it before it is renamed", path, cluster)
		}
	}
}

// Every field of an action, or of its extras, is compared by plan: it changes exactly one of the values of
// PartValues. Fields that PartValues leaves out are named here, with the reason.
func TestEveryFieldOfAnActionHasAPartValue(t *testing.T) {
	leftOut := map[string]string{
		"Action.Forward":   "plan compares its backends one by one",
		"Action.Respond":   "plan compares the answers",
		"Action.Extras":    "its fields are walked below",
		"Action.Parts":     "they say where the values are written",
		"Extras.Portless":  "it belongs to Redirect, and xds sets it",
		"Extras.Preflight": "it belongs to Rule.Preflight, and xds sets it",
		"Extras.Forged":    "it is for the virtual host",
		"Extras.Replaced":  "it turns off fields of the virtual host, which plan compares for each rule",
	}
	action := ir.Action{Extras: &ir.Extras{}}
	before := action.PartValues()
	for file, owner := range map[string]any{"translate/ir/action.go": &action, "translate/ir/extras.go": action.Extras} {
		value := reflect.ValueOf(owner).Elem()
		for i := range value.NumField() {
			name := value.Type().Name() + "." + value.Type().Field(i).Name
			if _, exempt := leftOut[name]; exempt {
				continue
			}
			setValue(value.Field(i))
			if kinds := changed(before, action.PartValues()); len(kinds) != 1 {
				t.Errorf("ir.%s changes the PartValues %q, want one: add it to the PartValues in %s (ARCHITECTURE.md, Where to add)", name, kinds, file)
			}
			value.Field(i).SetZero()
		}
	}
}

// setValue sets a value to one that is not its zero value.
func setValue(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
	case reflect.Struct:
		setValue(value.Field(0))
	case reflect.Bool:
		value.SetBool(true)
	default:
		value.Set(reflect.ValueOf(1).Convert(value.Type()))
	}
}

// changed returns the kinds whose values differ in two lists of PartValues.
func changed(before, after []ir.PartValue) (kinds []string) {
	for i := range before {
		if !reflect.DeepEqual(before[i], after[i]) {
			kinds = append(kinds, after[i].Kind)
		}
	}
	return kinds
}

// fill sets every field of a value that leads to a cluster, and names each cluster "c".
func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem())
	case reflect.Slice:
		if value.Type() != reflect.TypeFor[[]ir.Expr]() && value.Type() != reflect.TypeFor[ir.Template]() { // they have themselves inside
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			fill(value.Index(0))
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.Name == "Cluster" {
				value.Field(i).SetString("c")
			} else if field.IsExported() {
				fill(value.Field(i))
			}
		}
	}
}

// clusters returns the fields of a value that are called Cluster, by path.
func clusters(value reflect.Value, path string) map[string]string {
	found := map[string]string{}
	add := func(value reflect.Value, path string) { maps.Copy(found, clusters(value, path)) }
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			add(value.Elem(), path)
		}
	case reflect.Slice:
		for i := range value.Len() {
			add(value.Index(i), path)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			field := value.Type().Field(i)
			if at := path + "." + field.Name; field.Name == "Cluster" {
				found[at] = value.Field(i).String()
			} else {
				add(value.Field(i), at)
			}
		}
	}
	return found
}
