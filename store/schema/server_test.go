package schema

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// apiServer checks objects of one version of one kind with the API server's
// own parts, in its order.
type apiServer struct {
	schema    *structural.Structural
	validator validation.SchemaValidator
	rules     *cel.Validator
}

func newAPIServer(t testing.TB, k *kind, name string) *apiServer {
	t.Helper()
	var internal apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		k.crd[name].read().Schema.OpenAPIV3Schema, &internal, nil)
	if err != nil {
		t.Fatal(err)
	}
	delete(internal.Properties, "status")
	s := &apiServer{}
	if s.schema, err = structural.NewStructural(&internal); err != nil {
		t.Fatal(err)
	}
	if s.validator, _, err = validation.NewSchemaValidator(&internal); err != nil {
		t.Fatal(err)
	}
	s.rules = cel.NewValidator(s.schema, true, celconfig.PerCallLimit)
	return s
}

// check returns what is wrong, as "field" for values and "field: message" for
// rules, sorted and without repetition.
func (s *apiServer) check(t testing.TB, object map[string]any) []string {
	var wrong []string
	tracked := structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	wrong = append(wrong, pruning.PruneWithOptions(object, s.schema, true, tracked)...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.schema)
	defaulting.Default(object, s.schema)
	errs := validation.ValidateCustomResource(nil, object, s.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.schema, object)...)
	blocked := false
	for _, err := range errs {
		wrong = append(wrong, err.Field)
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			blocked = true
		}
	}
	if !blocked {
		broken, _ := s.rules.Validate(t.Context(), nil, s.schema, object, nil, celconfig.RuntimeCELCostBudget)
		for _, err := range broken {
			message := err.Detail
			if _, rule, failed := strings.Cut(message, " evaluating rule: "); failed {
				message = rule // we do not tell how the evaluation failed
			}
			wrong = append(wrong, err.Field+": "+message)
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// ours puts findings into the form of apiServer.check.
func ours(found []Finding) []string {
	var wrong []string
	for _, f := range found {
		switch {
		case f.Warning:
		case f.Code == RuleViolated:
			wrong = append(wrong, f.Field+": "+f.Message)
		default:
			wrong = append(wrong, f.Field)
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// TestVerdictsAreTheAPIServers changes sound objects at random and expects of
// the walk what the API server's parts say: the same fields, the same rules,
// and the same object afterwards.
func TestVerdictsAreTheAPIServers(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 3
	}
	servers := map[schema.GroupVersionKind]*apiServer{}
	rejected, accepted := 0, 0
	for _, object := range exampleObjects(t) {
		gvk := gvkOf(object)
		if servers[gvk] == nil {
			servers[gvk] = newAPIServer(t, kinds(t).kinds[gvk.GroupKind()], gvk.Version)
		}
		random := rand.New(rand.NewPCG(7, uint64(len(servers))))
		for range rounds {
			theirs := runtime.DeepCopyJSON(object)
			if spec, ok := theirs["spec"].(map[string]any); ok {
				mutate(random, spec)
			}
			input := runtime.DeepCopyJSON(theirs)
			checked := runtime.DeepCopyJSON(theirs)
			found := kinds(t).Check(gvk, checked)
			want, got := outsideOf(found, servers[gvk].check(t, theirs)), ours(found)
			if want, got := withoutForms(want, got); !slices.Equal(want, got) {
				t.Errorf("%s\ninput %v\nwant %q\ngot  %q", gvk.Kind, input, want, got)
			}
			if len(want) > 0 {
				rejected++
				continue
			}
			accepted++
			if !reflect.DeepEqual(theirs, checked) {
				t.Errorf("%s\ninput %v\nwant %v\ngot  %v", gvk.Kind, input, theirs, checked)
			}
		}
	}
	if rejected < 100 || accepted < 20 {
		t.Errorf("%d objects were rejected, %d accepted: too few to say anything", rejected, accepted)
	}
}

// outsideOf drops what the library says of the inside of a value whose type is
// wrong as a whole: we do not look there.
func outsideOf(found []Finding, wrong []string) []string {
	return slices.DeleteFunc(wrong, func(w string) bool {
		return slices.ContainsFunc(found, func(f Finding) bool {
			rest, inside := strings.CutPrefix(w, f.Field)
			return f.Code == WrongType && inside && rest != "" && (rest[0] == '.' || rest[0] == '[')
		})
	})
}

// withoutForms evens out what differs on purpose when a value has none of the
// forms of a oneOf, as a Gateway's address: the library adds an error without
// field, names the address where we name the value, and runs no rules.
func withoutForms(want, got []string) ([]string, []string) {
	if !slices.Contains(want, "<nil>") {
		return want, got
	}
	even := func(wrong []string) []string {
		var kept []string
		for _, w := range wrong {
			if w != "<nil>" && !strings.Contains(w, ": ") {
				kept = append(kept, strings.TrimSuffix(w, ".value"))
			}
		}
		slices.Sort(kept)
		return slices.Compact(kept)
	}
	return even(want), even(got)
}

// exampleObjects returns gateway-api's examples, sound or not, of kinds that
// have a CRD.
func exampleObjects(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, folder := range []string{"examples", "hack/invalid-examples"} {
		files := moduleFiles(t, folder)
		for _, path := range sortedKeys(files) {
			for _, object := range documents(t, files[path]) {
				k := kinds(t).kinds[gvkOf(object).GroupKind()]
				if k != nil && k.crd != nil {
					delete(object, "status")
					all = append(all, object)
				}
			}
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// mutate changes one value somewhere below object.
func mutate(random *rand.Rand, object map[string]any) {
	if len(object) == 0 {
		object["surprise"] = "x"
		return
	}
	keys := sortedKeys(object)
	key := keys[random.IntN(len(keys))]
	switch child := object[key].(type) {
	case map[string]any:
		if random.IntN(4) > 0 {
			mutate(random, child)
			return
		}
	case []any:
		if random.IntN(4) > 0 && len(child) > 0 {
			object[key] = mutateList(random, child)
			return
		}
	}
	switch random.IntN(5) {
	case 0:
		delete(object, key)
	case 1:
		object[key+"s"] = object[key]
		delete(object, key)
	default:
		object[key] = surprise(random)
	}
}

func mutateList(random *rand.Rand, list []any) []any {
	i := random.IntN(len(list))
	switch random.IntN(6) {
	case 0:
		return append(list, runtime.DeepCopyJSONValue(list[i]))
	case 1:
		for range 70 {
			list = append(list, runtime.DeepCopyJSONValue(list[i]))
		}
		return list
	case 2:
		list[i] = surprise(random)
		return list
	}
	if child, ok := list[i].(map[string]any); ok {
		mutate(random, child)
	} else {
		list[i] = surprise(random)
	}
	return list
}

func surprise(random *rand.Rand) any {
	values := []any{
		"", "a", "A b", "http", "Exact", "HTTPRoute", "a.example.com", "*.example.com", "/a%zz", "a\nb", "10s",
		strings.Repeat("x", 300), strings.Repeat("ü", 5000), int64(0), int64(-1), int64(80), int64(70000), int64(1) << 40,
		1.5, true, nil, []any{}, []any{nil}, []any{"a", "a"}, map[string]any{}, map[string]any{"name": nil},
		map[string]any{"name": "a", "port": int64(80)}, []any{map[string]any{"name": "a", "value": "b"}},
	}
	return runtime.DeepCopyJSONValue(values[random.IntN(len(values))])
}
