package policy

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/translate/ir"
)

// filled returns a value of a type with every field set but those that skip names.
func filled(of reflect.Type, skip ...string) reflect.Value {
	value := reflect.New(of).Elem()
	if of == reflect.TypeFor[resource.Quantity]() {
		value.Set(reflect.ValueOf(resource.MustParse("1Ki")))
		return value
	}
	switch of.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(of.Elem()))
		value.Elem().Set(filled(of.Elem(), skip...))
	case reflect.Slice:
		value.Set(reflect.Append(value, filled(of.Elem(), skip...)))
	case reflect.Map:
		value.Set(reflect.MakeMap(of))
		value.SetMapIndex(filled(of.Key()), filled(of.Elem(), skip...))
	case reflect.Struct:
		for i := range of.NumField() {
			if !slices.Contains(skip, of.Field(i).Name) {
				value.Field(i).Set(filled(of.Field(i).Type, skip...))
			}
		}
	case reflect.String:
		value.SetString("1s") // a duration, too
	case reflect.Bool:
		value.SetBool(true)
	default:
		value.Set(reflect.ValueOf(1).Convert(of))
	}
	return value
}

// specWith returns a spec that sets what leads to the path of a field alone: "rateLimit.local".
// ok is false where the API has no such field.
func specWith(name ir.Field, skip ...string) (spec *api.TrafficPolicySpec, ok bool) {
	spec = &api.TrafficPolicySpec{}
	at := reflect.ValueOf(spec)
	for step := range strings.SplitSeq(string(name), ".") {
		if at.IsNil() {
			at.Set(reflect.New(at.Type().Elem()))
		}
		at, ok = fieldByTag(at.Elem(), step)
		if !ok {
			return nil, false
		}
	}
	at.Set(filled(at.Type(), skip...))
	return spec, true
}

func fieldByTag(of reflect.Value, name string) (reflect.Value, bool) {
	for i := range of.NumField() {
		if tag(of.Type().Field(i)) == name {
			return of.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func tag(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// apiFields returns the fields of a TrafficPolicy but for its targets. A field of which
// Fields has parts stands for its parts.
func apiFields() (names []ir.Field) {
	spec := reflect.TypeFor[api.TrafficPolicySpec]()
	for i := range spec.NumField() {
		name := tag(spec.Field(i))
		switch {
		case name == "targetRefs", name == "targetSelectors":
		case slices.ContainsFunc(Fields(), func(f Field) bool { return strings.HasPrefix(string(f.Name), name+".") }):
			for part := range spec.Field(i).Type.Elem().NumField() {
				names = append(names, ir.Field(name+"."+tag(spec.Field(i).Type.Elem().Field(part))))
			}
		default:
			names = append(names, ir.Field(name))
		}
	}
	return names
}

func TestEveryFieldOfTheAPIHasARow(t *testing.T) {
	rows := map[ir.Field]bool{}
	for _, field := range Fields() {
		if rows[field.Name] {
			t.Errorf("Fields has two rows for %s", field.Name)
		}
		rows[field.Name] = true
	}
	for _, name := range apiFields() {
		if !rows[name] {
			t.Errorf("spec.%s of TrafficPolicies is never merged: name it in translate/ir/extras.go, "+
				"and add a row to Fields in translate/policy/field.go (ARCHITECTURE.md, Where to add)", name)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("Fields has a row for %s, which is no field of api.TrafficPolicySpec", name)
	}
}

// A row reads and takes its own field and no other, and changes no value that others share.
func TestRowsAreOfTheirOwnField(t *testing.T) {
	for _, field := range Fields() {
		spec, ok := specWith(field.Name)
		if !ok {
			continue
		}
		if got := SetFields(spec); !slices.Equal(got, []ir.Field{field.Name}) {
			t.Errorf("a spec with %s alone sets %v", field.Name, got)
		}
		taken := api.TrafficPolicySpec{}
		field.take(&taken, spec)
		if !reflect.DeepEqual(&taken, spec) {
			t.Errorf("take of %s: %+v", field.Name, taken)
		}
		all := filled(reflect.TypeFor[api.TrafficPolicySpec]()).Interface().(api.TrafficPolicySpec)
		into := all
		field.take(&into, spec)
		if all, into := SetFields(&all), SetFields(&into); !slices.Equal(all, into) {
			t.Errorf("take of %s into a spec with %v leaves %v", field.Name, all, into)
		}
		if untouched := filled(reflect.TypeOf(all)).Interface().(api.TrafficPolicySpec); !reflect.DeepEqual(all, untouched) {
			t.Errorf("take of %s changes a value that is shared", field.Name)
		}
	}
}

func TestEveryFieldOfExtrasIsLowered(t *testing.T) {
	from := map[string]ir.Field{}
	for _, field := range Fields() {
		spec, ok := specWith(field.Name, "Disable")
		if !ok {
			continue
		}
		extras, _ := Lower(spec)
		for _, kind := range partsSet(extras) {
			if kind != field.Name.PartKind() {
				t.Errorf("%s has the PartValue of %s: correct partValues in translate/ir/extras.go", field.Name, kind)
			}
		}
		value := reflect.ValueOf(*extras)
		if value.IsZero() {
			t.Errorf("%s comes to nothing: its row in Fields (translate/policy/field.go) must lower it to a field of ir.Extras", field.Name)
		}
		for i := range value.NumField() {
			name := value.Type().Field(i).Name
			if value.Field(i).IsZero() {
				continue
			}
			if other, twice := from[name]; twice {
				t.Errorf("ir.Extras.%s is of %s and of %s", name, other, field.Name)
			}
			from[name] = field.Name
		}
	}
	ofNoPolicy := []string{"Portless", "Preflight", "Forged", "Replaced"}
	for i := range reflect.TypeFor[ir.Extras]().NumField() {
		if name := reflect.TypeFor[ir.Extras]().Field(i).Name; from[name] == "" != slices.Contains(ofNoPolicy, name) {
			t.Errorf("ir.Extras.%s: lowered from %q; every field is of one row in translate/policy/field.go, but %v", name, from[name], ofNoPolicy)
		}
	}
}

// partsSet returns the kinds of the PartValues that extras set.
func partsSet(extras *ir.Extras) (kinds []string) {
	none := (&ir.Action{}).PartValues()
	for i, of := range (&ir.Action{Extras: extras}).PartValues() {
		if !reflect.DeepEqual(of, none[i]) {
			kinds = append(kinds, of.Kind)
		}
	}
	return kinds
}

// References to GatewayExtensions are to the policy's own namespace, wherever they are.
func TestReferencesGetTheNamespace(t *testing.T) {
	for _, field := range Fields() {
		spec, ok := specWith(field.Name, "Namespace")
		if !ok {
			continue
		}
		before, _ := specWith(field.Name, "Namespace")
		with := WithNamespace(spec, "ns")
		if !reflect.DeepEqual(spec, before) {
			t.Errorf("%s: the policy itself is changed", field.Name)
		}
		for _, ref := range references(reflect.ValueOf(with)) {
			if ref.Namespace == nil || *ref.Namespace != "ns" {
				t.Errorf("%s names a GatewayExtension without the namespace of its policy: its row in Fields (translate/policy/field.go) lacks inNamespace", field.Name)
			}
		}
	}
}

func references(value reflect.Value) (found []api.ExtensionRef) {
	switch ref, is := value.Interface().(api.ExtensionRef); {
	case is:
		return []api.ExtensionRef{ref}
	case value.Kind() == reflect.Pointer && !value.IsNil():
		return references(value.Elem())
	case value.Kind() == reflect.Slice:
		for i := range value.Len() {
			found = append(found, references(value.Index(i))...)
		}
	case value.Kind() == reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				found = append(found, references(value.Field(i))...)
			}
		}
	}
	return found
}

// The extensions that extras name are all found, whatever field they are in.
func TestExtensionsAreFound(t *testing.T) {
	var want, got []ir.Field
	extras := &ir.Extras{}
	for _, field := range Fields() {
		if spec, ok := specWith(field.Name, "Disable"); ok && len(references(reflect.ValueOf(spec))) > 0 {
			field.lower(spec, extras)
			want = append(want, field.Name)
		}
	}
	for _, use := range extras.Extensions() {
		got = append(got, use.Field)
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("Extras.Extensions (translate/ir/extension.go) returns %v, of %v", got, want)
	}
}

// The fields that a route can set itself, by a filter or a field of its rule.
func TestRouteHas(t *testing.T) {
	own := map[ir.Field]bool{}
	action := filled(reflect.TypeFor[ir.Action](), "Extras").Interface().(ir.Action)
	for _, field := range Fields() {
		if RouteHas(&action, field.Name) {
			own[field.Name] = true
		}
		if RouteHas(&ir.Action{}, field.Name) {
			t.Errorf("a route that says nothing has %s", field.Name)
		}
	}
	want := []ir.Field{ir.FieldAutoHostRewrite, ir.FieldCORS, ir.FieldExtAuth, ir.FieldRetry, ir.FieldTimeouts}
	if got := slices.Sorted(maps.Keys(own)); !slices.Equal(got, want) {
		t.Errorf("a route can set %v itself, want %v", got, want)
	}
}
