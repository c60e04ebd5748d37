package importer

import (
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

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
		"kind: Ingress\napiVersion: networking.k8s.io/v1\nmetadata: {name: i, annotations: {nginx.ingress.kubernetes.io/rewrite-target: /$1, nginx.ingress.kubernetes.io/canary: x}}\n" +
			"spec: {tls: [{hosts: [a]}], rules: [{host: a, http: {paths: [{path: '/(.*)', backend: {service: {name: s, port: {number: 1}}}}]}}]}\n",
		"http:\n  routers:\n    r: {rule: 'Host(`a`) && (!PathPrefix(`/x`) || Query(`k=v`))', entryPoints: [web], service: s, middlewares: [m]}\n" +
			"  middlewares: {m: {chain: {middlewares: [m, 3]}, stripPrefix: {prefixes: [/x]}}}\n  services: {s: {weighted: {services: [{name: s}]}}}\n" +
			"tls: {certificates: [1, {certFile: a}]}\ntcp: {routers: {r: 1}}\n",
		"http:\n  routers: {r: {rule: 'HostRegexp(`^.+\\.a\\.b$`)', service: s}}\n  services: {s: {loadBalancer: {servers: [{url: 'http://a'}]}}}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		inputs, err := Read("f", content)
		if err != nil {
			return
		}
		for _, read := range []func([]Input, Options) (*Objects, error){Cluster, Ingress, Traefik} {
			again, _ := Read("f", content) // an import changes what it is given
			objects, err := read(again, Options{Secrets: true, Replace: map[string]Address{"default/x": {Host: "a", Port: 1}}})
			if err != nil {
				t.Fatal(err)
			}
			checkImport(t, inputs, objects, len(content)%2 == 0)
		}
	})
}

// checkImport has every object found wrong, and checks what comes of it.
func checkImport(t *testing.T, inputs []Input, objects *Objects, hangs bool) {
	t.Helper()
	var problems []manifest.Problem
	for _, object := range objects.objects.all {
		problems = append(problems, manifest.Problem{Severity: manifest.Error, Code: "X", Object: object.key, Field: "spec.rules[0].backendRefs[0]"})
	}
	for objects.Settle(problems, func(string) bool { return hangs }) {
	}
	result := objects.Result(problems)
	if len(inputs) > 0 && len(result.Verdicts) == 0 && !emptyLists(inputs) {
		t.Error("no verdict")
	}
	for _, file := range result.Files {
		if clean := path.Clean("/" + file.Path); clean != "/"+file.Path || strings.Count(file.Path, "/") > 2 {
			t.Errorf("path %q", file.Path)
		}
	}
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

// Every leaf of every manifest in the scripts has a verdict, or is written as it is.
func TestEveryLeafHasAVerdict(t *testing.T) {
	leavesOf := 0
	for script, read := range map[string]func([]Input, Options) (*Objects, error){"import": Cluster, "importingress": Ingress} {
		archive, err := txtar.ParseFile("../../server/cli/testdata/" + script + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			if _, err := Read(file.Name, file.Data); err == nil && strings.HasSuffix(file.Name, ".yaml") {
				leavesOf += checkObjects(t, readWith(t, read, string(file.Data)), string(file.Data))
			}
		}
	}
	if leavesOf < 300 {
		t.Errorf("only %d leaves", leavesOf)
	}
}

// checkObjects wants a verdict for each leaf of the objects that were read, and returns how many there are.
func checkObjects(t *testing.T, objects *Objects, content string) (leavesOf int) {
	t.Helper()
	before, err := Read("f.yaml", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	result := objects.Result(nil)
	for _, in := range before {
		written, _ := objectsOf(in)
		for _, object := range written {
			Leaves(object.fields, func(leaf string, value any) {
				leavesOf++
				if !hasVerdict(objects, result, object, leaf, value) {
					t.Errorf("%s has no verdict for %s", object.name(), leaf)
				}
			})
		}
	}
	return leavesOf
}

// hasVerdict reports whether a field is written as it is, or has a verdict that names it. The
// verdict of a whole object counts only if nothing of the object is written.
func hasVerdict(objects *Objects, result Result, object *item, leaf string, value any) bool {
	after := objects.objects.find(object.key)
	if after != nil && !after.left {
		if now, _ := lookup(after.fields, parse(leaf)); reflect.DeepEqual(now, value) {
			return true
		}
	}
	return slices.ContainsFunc(result.Verdicts, func(v Verdict) bool {
		whole := len(v.Fields) == 0 && (result.Blocked || after == nil || after.left || after.isCore("Secret"))
		return v.Covers(object.name(), leaf) && (whole || len(v.Fields) > 0) || after == nil && v.File == object.place.file && v.Object == ""
	})
}

// Of two Ingresses with one path, the older one counts, as in nginx. Where ages are not known
// and they protect differently, the path is closed.
func TestOlderIngressCounts(t *testing.T) {
	ingress := func(name, created, annotations string) string {
		return "kind: Ingress\napiVersion: networking.k8s.io/v1\nmetadata: {name: " + name + ", " + created + "annotations: {" + annotations + "}}\n" +
			"spec: {rules: [{host: a, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: " + name + ", port: {number: 1}}}}]}}]}\n---\n"
	}
	const guarded = "nginx.ingress.kubernetes.io/whitelist-source-range: 10.0.0.0/8"
	for _, c := range []struct{ input, served string }{
		{ingress("a", `creationTimestamp: "2025-01-02T00:00:00Z", `, "") + ingress("b", `creationTimestamp: "2025-01-01T00:00:00Z", `, guarded), "b"},
		{ingress("a", "", "") + ingress("b", "", guarded), ""},
		{ingress("a", "", "") + ingress("b", "", ""), "a"},
	} {
		inputs, err := Read("f", []byte(c.input))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := Ingress(inputs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		served := ""
		for _, object := range objects.objects.all {
			if refs, _ := lookup(object.spec(), parse("rules[0].backendRefs[0].name")); object.is("HTTPRoute") {
				served += text(refs)
			}
		}
		if served != c.served {
			t.Errorf("%q is served, want %q", served, c.served)
		}
	}
}
