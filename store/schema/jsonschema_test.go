package schema

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"
)

// validators returns a validator for each definition of the JSON Schema of all kinds.
func validators(t *testing.T) map[string]validation.SchemaValidator {
	t.Helper()
	set, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]validation.SchemaValidator{}
	for name, definition := range set.JSONSchema()["definitions"].(JSONSchema) {
		text, err := json.Marshal(definition)
		if err != nil {
			t.Fatal(err)
		}
		of := new(structural.Structural).ToKubeOpenAPI()
		if err := json.Unmarshal(text, of); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = validation.NewSchemaValidatorFromOpenAPI(of)
	}
	return out
}

// definitionOf returns the name of the definition of an object.
func definitionOf(object map[string]any) string {
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return strings.ReplaceAll(version+"/"+kind, "/", ".")
}

// TestJSONSchemaTakesWhatIsValid holds the JSON Schema against objects of the cases and of
// gateway-api's examples: what Check takes without an error, the schema takes.
func TestJSONSchemaTakesWhatIsValid(t *testing.T) {
	of, set, taken := validators(t), kinds(t), map[string]int{}
	for at, text := range jsonSchemaSamples(t) {
		for _, object := range documents(t, text) {
			schema, written := of[definitionOf(object)], withoutNull(object)
			if schema == nil || hasError(set.Check(gvkOf(object), object)) {
				continue
			}
			if strings.HasSuffix(at, "listener-defaults.txtar edit 1/in/gateway.yaml") || strings.Contains(at, "priority-unknown.txtar") {
				continue // values of annotations that translate rejects, or warns of
			}
			if result := schema.Validate(written); !result.IsValid() {
				t.Errorf("%s: %v: %v", at, written["metadata"], result.Errors)
			}
			taken[definitionOf(object)]++
		}
	}
	for name := range of {
		if taken[name] == 0 && strings.HasSuffix(name, "v1.HTTPRoute") {
			t.Errorf("no valid %s was tried", name)
		}
	}
	if len(taken) < 15 {
		t.Errorf("objects of few kinds were tried: %v", taken)
	}
}

// jsonSchemaSamples returns YAML of objects, by where it is.
func jsonSchemaSamples(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, folder := range []string{"examples/standard", "examples/experimental"} {
		for path, text := range moduleFiles(t, folder) {
			all[folder+"/"+path] = text
		}
	}
	archives, err := filepath.Glob("../../translate/testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d cases: %v", len(archives), err)
	}
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".yaml") && strings.Contains(file.Name, "in/") && readable(file.Data) {
				all[path+" "+file.Name] = file.Data
			}
		}
	}
	return all
}

// readable reports whether a text is YAML of objects: cases have files that are not.
func readable(text []byte) bool {
	for part := range bytes.SplitSeq(append([]byte("\n"), text...), []byte("\n---")) {
		object := map[string]any{}
		if yaml.Unmarshal(part, &object) != nil {
			return false
		}
	}
	return true
}

func hasError(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return !f.Warning })
}

// withoutNull returns a copy without the fields that are null, which count as missing.
func withoutNull(object map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range object {
		if value != nil {
			out[name] = plainValue(value)
		}
	}
	return out
}

func plainValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return withoutNull(value)
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = plainValue(value[i])
		}
		return out
	}
	return value
}

// TestJSONSchemaRejects says what editors underline.
func TestJSONSchemaRejects(t *testing.T) {
	of := validators(t)
	const head = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: x}\n"
	const policy = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: x}\n"
	for text, wrong := range map[string]bool{
		head + "spec: {hostnames: [a.example.com]}":                                                         false,
		head + "spec: {hostname: [a.example.com]}":                                                          true, // an unknown field
		head + "spec: {hostnames: a.example.com}":                                                           true, // a type
		head + "spec: {rules: [{matches: [{path: {type: Prefix, value: /}}]}]}":                             true, // a value
		head + "spec: {rules: [{allowedRoutes: {namespaces: {from: None}}}]}":                               false,
		head + "spec: {rules: [{backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute}]}]}":      true, // a required field
		"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {}\n":                         true,
		policy + "spec: {buffer: {maxRequestSize: 1Mi}}":                                                    false,
		policy + "spec: {faultInjection: {}}":                                                               true, // not served
		"apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: 80, targetPort: http}]}": false,
		"apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {port: 80}":                              true,
	} {
		object := documents(t, []byte(text))[0]
		if valid := of[definitionOf(object)].Validate(object).IsValid(); valid == wrong {
			t.Errorf("valid is %v for\n%s", valid, text)
		}
	}
}

// TestJSONSchemaMarksWhatIsNotServed finds each entry of the list in the schema.
func TestJSONSchemaMarksWhatIsNotServed(t *testing.T) {
	set := kinds(t)
	for kind, paths := range readNotServed().Fields {
		definition := set.JSONSchema()["definitions"].(JSONSchema)["gateway.kgateway.dev.v1alpha1."+kind].(JSONSchema)
		for _, path := range paths {
			field := definition.find(strings.Split(path, "."))
			if field == nil || field["not"] == nil || !strings.Contains(field["description"].(string), "does not serve it") {
				t.Errorf("%s %s is %v", kind, path, field)
			}
		}
	}
}

// TestJSONSchemaDescribesEveryField finds words for each field that editors propose, and a field for each of the words.
func TestJSONSchemaDescribesEveryField(t *testing.T) {
	seen := map[string]bool{}
	var walk func(definition, path string, s JSONSchema)
	walk = func(definition, path string, s JSONSchema) {
		fields, _ := s["properties"].(JSONSchema)
		for name, field := range fields {
			field, at := field.(JSONSchema), strings.TrimPrefix(path+"."+name, ".")
			if words, _ := field["description"].(string); words == "" && !strings.Contains(at, ".requestMirror.fraction.") {
				t.Errorf("%s: %s has no description", definition, at)
			}
			seen[definition[strings.LastIndexByte(definition, '.')+1:]+" "+at], seen[" "+at] = true, true
			walk(definition, at, field)
			if items, _ := field["items"].(JSONSchema); items != nil {
				walk(definition, at+"[]", items)
			}
		}
	}
	for name, definition := range kinds(t).JSONSchema()["definitions"].(JSONSchema) {
		walk(name, "", definition.(JSONSchema))
	}
	text, err := crds.ReadFile(describedFile)
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]map[string]string{}
	if err := yaml.UnmarshalStrict(text, &words); err != nil {
		t.Fatal(err)
	}
	for kind, fields := range words {
		for path := range fields {
			if !seen[kind+" "+path] {
				t.Errorf("%q has no field %s", kind, path)
			}
		}
	}
}
