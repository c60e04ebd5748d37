package schema

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/gatefold/gatefold/store/api"
)

// TestTableOfKinds holds the table against the CRDs.
func TestTableOfKinds(t *testing.T) {
	for _, k := range crdKinds() {
		crd := parseCRD(t, k)
		if crd.Spec.Group != k.Group || crd.Spec.Names.Kind != k.Kind {
			t.Errorf("%s is found in the CRD of %s in %s", k.Kind, crd.Spec.Names.Kind, crd.Spec.Group)
		}
		if namespaced := crd.Spec.Scope == "Namespaced"; namespaced != k.namespaced {
			t.Errorf("%s: namespaced %v", k.Kind, namespaced)
		}
		var storage, served []string
		for _, v := range crd.Spec.Versions {
			if v.Storage {
				storage = append(storage, v.Name)
			} else if v.Served {
				served = append(served, v.Name)
			}
		}
		rest := slices.Sorted(slices.Values(k.versions[1:]))
		slices.Sort(served)
		if !slices.Equal(storage, k.versions[:1]) || !slices.Equal(served, rest) {
			t.Errorf("%s: storage %v, served besides %v; the table has %v", k.Kind, storage, served, k.versions)
		}
	}
}

func TestLookups(t *testing.T) {
	set := kinds(t)
	grant := schema.GroupKind{Group: gatewayGroup, Kind: "ReferenceGrant"}
	class := schema.GroupKind{Group: gatewayGroup, Kind: "GatewayClass"}
	unknown := schema.GroupKind{Group: gatewayGroup, Kind: "XMesh"}
	if got := set.Versions(grant); !slices.Equal(got, []string{"v1beta1", "v1"}) {
		t.Errorf("versions %v", got)
	}
	if set.Versions(grant) == nil || !set.Namespaced(grant) || set.Namespaced(class) || set.Namespaced(unknown) || set.Versions(unknown) != nil {
		t.Error("a lookup is wrong")
	}
	if found := set.Check(unknown.WithVersion("v1"), map[string]any{}); len(found) != 1 || found[0].Field != "kind" {
		t.Errorf("%+v", found)
	}
}

// TestVersionsHaveTheSameFields is the promise of Versions.
func TestVersionsHaveTheSameFields(t *testing.T) {
	for _, k := range crdKinds() {
		want := shape(compileVersion(k.crd[k.versions[0]].read(), nil).root, "", map[string]string{})
		for _, name := range k.versions[1:] {
			if got := shape(compileVersion(k.crd[name].read(), nil).root, "", map[string]string{}); !maps.Equal(got, want) {
				t.Errorf("%s %s differs from %s", k.Kind, name, k.versions[0])
			}
		}
	}
}

// shape returns the type at every path below n.
func shape(n *node, at string, into map[string]string) map[string]string {
	into[at] = n.typ
	for name, child := range n.fields {
		shape(child, at+"."+name, into)
	}
	if n.items != nil {
		shape(n.items, at+"[]", into)
	}
	if n.values != nil {
		shape(n.values, at+"[*]", into)
	}
	return into
}

// TestOwnTypesHaveTheFieldsOfTheirCRDs finds a type of package api that was changed without
// `make generate`. What it does not see, such as bounds, `make generated` does.
func TestOwnTypesHaveTheFieldsOfTheirCRDs(t *testing.T) {
	for name, object := range map[string]metav1.Object{
		api.KindBackend: &api.Backend{}, api.KindTrafficPolicy: &api.TrafficPolicy{},
		api.KindGatewayExtension: &api.GatewayExtension{}, api.KindBackendConfigPolicy: &api.BackendConfigPolicy{},
	} {
		crd := compileVersion(kindNamed(t, name).crd[api.Version].read(), nil).root
		got := shape(fromType(reflect.TypeOf(object)).fields["spec"], "", map[string]string{})
		if want := shape(crd.fields["spec"], "", map[string]string{}); !maps.Equal(got, want) {
			t.Errorf("%s: type %v\nCRD  %v", name, got, want)
		}
	}
}

// TestFieldsOfOwnKindsAreDescribed wants a sentence or two for each field, for people: no
// marker, and not the long comment of a type of the Gateway API.
func TestFieldsOfOwnKindsAreDescribed(t *testing.T) {
	for _, k := range crdKinds() {
		if k.Group != api.Group {
			continue
		}
		for name, version := range k.crd {
			eachField(version.read().Schema.OpenAPIV3Schema.Properties["spec"], "spec", func(at, description string) {
				if len(description) < 10 || len(description) > 300 || strings.ContainsAny(description, "+”") {
					t.Errorf("%s %s: %s is described by %q", k.Kind, name, at, description)
				}
			})
		}
	}
}

// eachField calls see with the path and the description of each field below s.
func eachField(s apiextensionsv1.JSONSchemaProps, at string, see func(at, description string)) {
	if s.Items != nil {
		eachField(*s.Items.Schema, at+"[]", see)
	}
	for name, field := range s.Properties {
		see(at+"."+name, field.Description)
		eachField(field, at+"."+name, see)
	}
}

// TestDefaults holds what an API server fills in and translate counts on
// (docs/design/kgateway.md: no API server).
func TestDefaults(t *testing.T) {
	object, found := checked(t, route(`{
		parentRefs: [{name: edge}],
		rules: [
			{backendRefs: [{name: a, port: 80}]},
			{matches: [{headers: [{name: x, value: "1"}], queryParams: [{name: q, value: "1"}]}, {path: {value: /a}}], backendRefs: null},
			{filters: [{type: RequestRedirect, requestRedirect: {}}]}
		]}`))
	if len(found) > 0 {
		t.Fatalf("%+v", found)
	}
	want := `{
		"parentRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "edge"}],
		"rules": [
			{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
			 "backendRefs": [{"group": "", "kind": "Service", "name": "a", "port": 80, "weight": 1}]},
			{"matches": [
				{"path": {"type": "PathPrefix", "value": "/"},
				 "headers": [{"type": "Exact", "name": "x", "value": "1"}],
				 "queryParams": [{"type": "Exact", "name": "q", "value": "1"}]},
				{"path": {"type": "PathPrefix", "value": "/a"}}]},
			{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
			 "filters": [{"type": "RequestRedirect", "requestRedirect": {"statusCode": 302}}]}
		]}`
	var wanted map[string]any
	if err := utiljson.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(object["spec"], wanted) {
		got, _ := json.MarshalIndent(object["spec"], "", "  ")
		t.Errorf("got %s", got)
	}
}

// TestDefaultsAreNotShared changes one object's default and looks at the next.
func TestDefaultsAreNotShared(t *testing.T) {
	text := route("{rules: [{backendRefs: [{name: a, port: 80}]}]}")
	path := func(object map[string]any) map[string]any {
		rules := object["spec"].(map[string]any)["rules"].([]any)
		return rules[0].(map[string]any)["matches"].([]any)[0].(map[string]any)["path"].(map[string]any)
	}
	first, _ := checked(t, text)
	path(first)["value"] = "/changed"
	if second, _ := checked(t, text); path(second)["value"] != "/" {
		t.Errorf("the default is now %v", path(second)["value"])
	}
}

func TestWhatKubectlPrintsIsDropped(t *testing.T) {
	object, found := checked(t, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
		metadata: {name: a, resourceVersion: "7", uid: u, generation: 3, creationTimestamp: null, managedFields: [{what: ever}]},
		spec: {hostnames: null}, status: {any: thing}}`)
	want := map[string]any{"name": "a", "uid": "u", "generation": int64(3)}
	if len(found) > 0 || !reflect.DeepEqual(object["metadata"], want) || object["status"] != nil {
		t.Errorf("%v, %+v", object, found)
	}
}

// TestNumbersOfPlainDecoders takes float64, which decoders without schema give.
func TestNumbersOfPlainDecoders(t *testing.T) {
	object := documents(t, []byte(typicalRoute))[0]
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]any{}
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	kinds(t).Check(gvkOf(object), object)
	if found := kinds(t).Check(gvkOf(plain), plain); len(found) > 0 || !reflect.DeepEqual(plain, object) {
		t.Errorf("%+v\n%v\n%v", found, plain, object)
	}
}

// TestConcurrentChecks compiles and uses a fresh set from many goroutines; the
// race detector watches.
func TestConcurrentChecks(t *testing.T) {
	set, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{typicalRoute, route("{rulez: []}"), doc("v1", "Secret", "data: {}"), doc("v1", "Service", "spec: {}")}
	want := []int{0, 1, 0, 1}
	var group sync.WaitGroup
	for range 4 {
		for i, text := range texts {
			object := documents(t, []byte(text))[0]
			group.Go(func() {
				if found := set.Check(gvkOf(object), object); len(found) != want[i] {
					t.Errorf("%+v", found)
				}
			})
		}
	}
	group.Wait()
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"spec":{"rules":[{"matches":[{"path":{"value":"/"}}]}]},"metadata":{"name":"a"}}`), byte(3))
	f.Add([]byte(`{"spec":{"listeners":[{"name":1,"port":80.5,"tls":[]}],"addresses":[{"value":null}]},"metadata":[]}`), byte(1))
	f.Add([]byte(`{"data":{"a":"YQ=="},"stringData":[],"metadata":{"labels":{"":null}}}`), byte(14))
	f.Add([]byte(`{"spec":{"ports":[{"port":1e300},{"targetPort":true},null]}}`), byte(12))
	all := slices.Concat(crdKinds(), coreKinds())
	f.Fuzz(func(t *testing.T, text []byte, which byte) {
		object := map[string]any{}
		if utiljson.Unmarshal(text, &object) != nil {
			return
		}
		k := all[int(which)%len(all)]
		for _, version := range k.versions {
			kinds(t).Check(k.WithVersion(version), object)
		}
		again := kinds(t).Check(k.WithVersion(k.versions[0]), object)
		if second := kinds(t).Check(k.WithVersion(k.versions[0]), object); !reflect.DeepEqual(again, second) {
			t.Errorf("%+v\nthen %+v", again, second)
		}
	})
}

// Recheck leaves out the rules alone, and the fingerprint is one.
func TestRecheckLeavesOutTheRules(t *testing.T) {
	set, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	gvk := schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}
	for _, test := range []struct {
		path               string
		checked, rechecked int
	}{{"/a", 0, 0}, {"a", 1, 0}, {strings.Repeat("/a", 1000), 1, 1}} {
		object := func() map[string]any {
			return map[string]any{
				"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"name": "a", "namespace": "default"},
				"spec": map[string]any{"rules": []any{map[string]any{"matches": []any{map[string]any{"path": map[string]any{"value": test.path}}}}}},
			}
		}
		if checked, rechecked := set.Check(gvk, object()), set.Recheck(gvk, object()); len(checked) != test.checked || len(rechecked) != test.rechecked {
			t.Errorf("%.5s: %v, and %v; want %d and %d", test.path, checked, rechecked, test.checked, test.rechecked)
		}
	}
}
