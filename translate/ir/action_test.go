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
