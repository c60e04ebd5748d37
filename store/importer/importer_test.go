package importer

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// FuzzImport gives import any bytes: it neither panics nor writes outside of its folder, and it
// finds the same twice. A file that can be read has a verdict.
func FuzzImport(f *testing.F) {
	for _, seed := range []string{
		"kind: List\napiVersion: v1\nitems:\n- {kind: Secret, apiVersion: v1, metadata: {name: a}, data: {x: .inf}}\n",
		"kind: HTTPRoute\napiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: ../x}\n",
		"kind: TrafficPolicy\napiVersion: gateway.kgateway.dev/v1alpha1\nmetadata: {name: x, labels: 3}\nspec: {targetRefs: 1}\n",
		"kind: Service\napiVersion: v1\nmetadata: {name: x}\nspec: {ports: [1]}\n---\n- 1\n",
		"kind: SecurityPolicy\napiVersion: a.b/v1\nmetadata: {name: x}\nspec: {targetRef: {kind: HTTPRoute, name: r}}\n---\n" +
			"kind: HTTPRoute\napiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: r}\nspec: {rules: [2, {matches: 3}], parentRefs: [4]}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		inputs, err := Read("f", content)
		if err != nil {
			return
		}
		objects, err := Cluster(inputs, Options{Secrets: true, Replace: map[string]Address{"default/x": {Host: "a", Port: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		var problems []manifest.Problem
		for _, object := range objects.objects {
			problems = append(problems, manifest.Problem{Severity: manifest.Error, Code: "X", Object: object.key, Field: "spec.rules[0].backendRefs[0]"})
		}
		for objects.Settle(problems, func(string) bool { return false }) {
		}
		result := objects.Result(problems)
		if len(inputs) > 0 && len(result.Verdicts) == 0 && !emptyLists(inputs) {
			t.Errorf("no verdict for %q", content)
		}
		for _, file := range result.Files {
			if clean := path.Clean("/" + file.Path); clean != "/"+file.Path || strings.Count(file.Path, "/") > 2 {
				t.Errorf("path %q", file.Path)
			}
		}
	})
}

func emptyLists(inputs []Input) bool {
	return !slices.ContainsFunc(inputs, func(in Input) bool { return len(list(at(in.Value, "items"))) > 0 || at(in.Value, "items") == nil })
}

func TestLookup(t *testing.T) {
	value := map[string]any{"spec": map[string]any{"rules": []any{map[string]any{"name": "a", "filters": []any{map[string]any{"x.y": "z"}}}}}}
	found, named := lookup(value, parse("spec.rules[0].filters[0][x.y]"))
	if found != "z" || text(named["name"]) != "a" {
		t.Errorf("found %v in %v", found, named)
	}
	Leaves(value, func(leaf string, want any) {
		if got, _ := lookup(value, parse(leaf)); got != want {
			t.Errorf("%s: %v, want %v", leaf, got, want)
		}
	})
	if remove(value, parse("spec.rules[1].name")) || !remove(value, parse("spec.rules[0].name")) {
		t.Error("removed the wrong field")
	}
}
