package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestNotServed writes each field and value of the list into an object: each is NotServed,
// with what to do, without a proposal and without another finding of it. None of them is in the schema.
func TestNotServed(t *testing.T) {
	all := readNotServed()
	for kind, fields := range all.Fields {
		for _, field := range fields {
			found := checkPath(t, kind, field, map[string]any{"anything": int64(1)})
			i := slices.IndexFunc(found, func(f Finding) bool { return f.Code == NotServed })
			if i < 0 || found[i].Hint == "" || strings.Contains(found[i].Hint, "mean") || found[i].Warning || !found[i].OfKey() || slices.ContainsFunc(found, func(f Finding) bool { return f.Code == UnknownField }) {
				t.Errorf("%s %s: %+v", kind, field, found)
			}
		}
	}
	for kind, values := range all.Values {
		for field, values := range values {
			for _, value := range values {
				found := checkPath(t, kind, field, value)
				if !slices.ContainsFunc(found, func(f Finding) bool {
					return f.Code == NotServed && f.Hint != "" && strings.ReplaceAll(f.Field, "[0]", "[]") == field && !f.OfKey()
				}) {
					t.Errorf("%s %s: %v: %+v", kind, field, value, found)
				}
			}
		}
	}
}

// checkPath checks an object of a kind that has a value at a path of the list.
func checkPath(t *testing.T, kind, path string, value any) []Finding {
	t.Helper()
	names := strings.Split(path, ".")
	for _, name := range slices.Backward(names) {
		name, list := strings.CutSuffix(name, "[]")
		if list {
			value = []any{value}
		}
		value = map[string]any{name: value}
	}
	object, _ := value.(map[string]any)
	object["apiVersion"], object["kind"] = "gateway.kgateway.dev/v1alpha1", kind
	object["metadata"] = map[string]any{"name": "a", "namespace": "default"}
	RenameListenerSets(object) // as the store does
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	_, found := checked(t, string(text))
	return found
}

// TestKindNotServed looks kinds up.
func TestKindNotServed(t *testing.T) {
	set := kinds(t)
	for name, want := range map[string]bool{"DirectResponse": true, "ListenerPolicy": true, "TrafficPolicy": false, "Other": false} {
		if _, ok := set.KindNotServed(schema.GroupKind{Group: "gateway.kgateway.dev", Kind: name}); ok != want {
			t.Errorf("%s: %v", name, ok)
		}
	}
}

// TestHarmlessFields wants each harmless field among those that are not served, with a hint that says what is without it.
func TestHarmlessFields(t *testing.T) {
	all := readNotServed()
	for kind, fields := range all.Harmless {
		for _, field := range fields {
			if !slices.Contains(all.Fields[kind], field) || !strings.HasPrefix(all.Instead[kind][field], "remove it: ") {
				t.Errorf("%s %s: %q", kind, field, all.Instead[kind][field])
			}
		}
	}
}
