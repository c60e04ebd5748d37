package schema

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/api"
)

// TestKgatewayFields writes each field of kgateway's API into an object. gatefold's schema has the field, or it is
// NotServed, with what to do: no name of the reference is unknown.
func TestKgatewayFields(t *testing.T) {
	for _, f := range readKgateway("2.5").fields {
		if gatefoldHas(t, f) {
			continue
		}
		found := checkPath(t, f.kind, strings.ReplaceAll(f.path, "{}", ".a"), exampleOf(f.node))
		if !slices.ContainsFunc(found, notServedWithHint) {
			t.Errorf("%s %s: %+v", f.kind, f.path, found)
		}
	}
}

// TestKgatewayValues writes each value that a field of kgateway's API takes into an object: it is allowed, or NotServed,
// with what to do.
func TestKgatewayValues(t *testing.T) {
	for _, f := range readKgateway("2.5").fields {
		if !gatefoldHas(t, f) {
			continue
		}
		for _, value := range f.node.limits.Enum {
			for _, wrong := range checkPath(t, f.kind, f.path, value.Object) {
				if strings.ReplaceAll(wrong.Field, "[0]", "[]") == f.path && !notServedWithHint(wrong) {
					t.Errorf("%s %s: %v: %+v", f.kind, f.path, value.Object, wrong)
				}
			}
		}
	}
}

// TestKgatewayAnnotations writes each annotation and label that kgateway reads: gatefold reads it, or it is NotServed,
// with what to do.
func TestKgatewayAnnotations(t *testing.T) {
	own := Annotations()
	for _, key := range readKgateway("2.5").keys {
		served := slices.ContainsFunc(own, func(a Annotation) bool { return a.Name == key.name && a.Label == (key.list == "label") })
		if served || key.list == "option" { // translate/listen reads options
			continue
		}
		_, found := checked(t, "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {"+key.name+": a}}\nspec: {ports: [{port: 80}]}")
		if len(found) != 1 || !notServedWithHint(found[0]) || !found[0].Warning {
			t.Errorf("%s: %+v", key.name, found)
		}
	}
}

// notServedWithHint reports whether a finding says that gatefold does not serve something, and what to do.
func notServedWithHint(f Finding) bool { return f.Code == NotServed && f.Hint != "" }

// gatefoldHas reports whether gatefold's schema has a field of kgateway. It is true for all fields of a kind that gatefold
// does not serve at all.
func gatefoldHas(t *testing.T, f kgatewayField) bool {
	t.Helper()
	all, gk := kinds(t), schema.GroupKind{Group: api.Group, Kind: f.kind}
	k := all.kinds[gk]
	if k == nil {
		if _, known := all.KindNotServed(gk); !known {
			t.Errorf("the kind %s is neither served nor in %s", f.kind, notServedFile)
		}
		return true
	}
	return k.checks[k.versions[0]]().root.at(f.path) != nil
}

// exampleOf returns a value of the type of a schema.
func exampleOf(n *node) any {
	switch n.typ {
	case "integer":
		return int64(1)
	case "boolean":
		return true
	case "object":
		return map[string]any{}
	case "array":
		return []any{}
	}
	return "a"
}
