package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/watcher"
)

// told is what a Change says of invalid objects, in one line.
func told(c Change) string {
	var parts []string
	for _, o := range c.Set {
		parts = append(parts, "+"+o.Key.Name)
	}
	for _, key := range c.Gone {
		parts = append(parts, "-"+key.Name)
	}
	for _, i := range c.Invalid {
		parts = append(parts, "?"+i.Key.Name+" "+i.Message())
	}
	return strings.Join(parts, " ")
}

// TestInvalidIsToldWhereNothingServes walks through what becomes of an object that its
// schema rejects, beside definitions and versions that it takes.
func TestInvalidIsToldWhereNothingServes(t *testing.T) {
	sound, bad, worse := route("a", "/1"), route("a", "no-slash"), strings.ReplaceAll(route("a", "no-slash"), "8080", "800080")
	first := told(newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": bad})))
	second := told(newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": worse})))
	if !strings.HasPrefix(first, "?a spec.rules[0].matches[0].path") || !strings.HasPrefix(second, "?a spec.rules[0].backendRefs[0].port: ") || !strings.HasSuffix(second, "; and 1 more") {
		t.Fatalf("told is\n%s\n%s", first, second)
	}
	type files = map[string]string
	for _, test := range []struct {
		name  string
		trees []files
		want  []string
	}{
		{"it comes, changes, moves and goes", []files{{"x.yaml": bad}, {"x.yaml": worse}, {"x.yaml": "# note\n" + worse + "---\n" + route("b", "/1")}, {"y.yaml": worse}, {"z.yaml": route("b", "/1")}},
			[]string{first, second, "+b", "-b", "+b -a"}},
		{"it becomes sound, and its last good version stays", []files{{"x.yaml": bad}, {"x.yaml": sound}, {"x.yaml": worse}, {"x.yaml": sound}},
			[]string{first, "+a", "", ""}},
		{"it moves and becomes invalid, and its last good version stays", []files{{"x.yaml": sound}, {"y.yaml": bad}, {"w.yaml": worse}, {"w.yaml": worse, "x.yaml": sound}, {"w.yaml": worse}, {"v.yaml": route("b", "/1")}},
			[]string{"+a", "", "", "", "", "+b -a"}},
		{"its last good version stays as long as any definition is invalid", []files{{"x.yaml": sound}, {"x.yaml": sound, "y.yaml": bad}, {"x.yaml": worse, "y.yaml": bad}, {"y.yaml": bad}, {"y.yaml": sound}, {"y.yaml": sound, "z.yaml": bad}, {"y.yaml": route("b", "/1")}},
			[]string{"+a", "", "", "", "", "", "+b -a"}},
		{"two are invalid: the first path speaks", []files{{"y.yaml": bad}, {"x.yaml": worse, "y.yaml": bad}, {"y.yaml": bad}}, []string{first, second, first}},
		{"two in one file: the first speaks", []files{{"x.yaml": bad + "---\n" + worse}, {"x.yaml": worse + "---\n" + bad}}, []string{first, second}},
		{"items of a list", []files{{"x.yaml": listOf(route("b", "/1"), bad)}}, []string{"+b " + first}},
		{"what cannot be read as YAML is nobody's", []files{{"x.yaml": "kind: [\n"}, {"x.yaml": bad + "---\nkind: [\n"}}, []string{"", first}},
		{"a held folder tells nothing", []files{{"x.yaml": bad, "y.yaml": route("b", "/1")}, {}, {"y.yaml": route("b", "/1")}}, []string{"+b " + first, "", "-a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, saved := newStore(t, saving), ledger{}
			sum := newHeld()
			for i, files := range test.trees {
				c := s.Apply(treeOf(files))
				if got := told(c); got != test.want[i] {
					t.Errorf("tree %d: got %q, want %q", i, got, test.want[i])
				}
				apply(t, sum, c)
				saved.take(s)
				if c.Hold != "" {
					continue
				}
				again := newHeld()
				apply(t, again, saved.restart(t, saving).Apply(treeOf(files)))
				compare(t, again, sum)
			}
		})
	}
}

// invalidOf returns what is told of the one object of a text.
func invalidOf(t *testing.T, text string) *Invalid {
	t.Helper()
	c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": text}))
	if len(c.Invalid) != 1 {
		t.Fatalf("%d are invalid: %v", len(c.Invalid), c.Problems)
	}
	return c.Invalid[0]
}

// TestInvalidIsReadAsFarAsItCan reads what is of use beside mistakes of all sorts.
func TestInvalidIsReadAsFarAsItCan(t *testing.T) {
	document := func(kind, spec string) string {
		group := "gateway.networking.k8s.io/v1"
		if kind == "TrafficPolicy" || kind == "GatewayExtension" {
			group = "gateway.kgateway.dev/v1alpha1"
		}
		return "apiVersion: " + group + "\nkind: " + kind + "\nmetadata: {name: a, generation: 7}\nspec: {" + spec + "}\n"
	}
	long := strings.Repeat("x", 300)
	for _, test := range []struct{ kind, spec, want string }{
		{"HTTPRoute", `oops: 1, parentRefs: [{name: g, port: "80"}, {name: 5}, 7, {name: g, namespace: [x]}, {name: ` + long + `}, {name: h, sectionName: s, port: 80, kind: ListenerSet, namespace: ns}]`,
			"refs gateway.networking.k8s.io/Gateway g:80 gateway.networking.k8s.io/Gateway g gateway.networking.k8s.io/ListenerSet ns/h#s:80"},
		{"Gateway", `gatewayClassName: mine, listeners: [{name: one, port: 80, protocol: HTTP}, {name: two, port: 0, protocol: HTTP}, {name: two, port: 1, protocol: HTTP}, {name: "no>", port: 1, protocol: HTTP}, 4]`,
			"class mine listeners one two=spec.listeners[1].port"},
		{"Gateway", `gatewayClassName: [], listeners: {}`, ""},
		{"GatewayClass", "controllerName: example.com/x, description: 4", "class example.com/x"},
		{"GatewayClass", "controllerName: example", ""},
		{"ListenerSet", "parentRef: {name: g}, listeners: [{name: one, port: 800000, protocol: HTTP}]", "refs gateway.networking.k8s.io/Gateway g listeners one=spec.listeners[0].port"},
		{"ListenerSet", "parentRef: 5", ""},
		{"TrafficPolicy", "oops: 1, targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: g}]", "refs gateway.networking.k8s.io/Gateway g"},
		{"GatewayExtension", "oops: 1", ""},
	} {
		i := invalidOf(t, document(test.kind, test.spec))
		var got []string
		if i.Class != "" {
			got = append(got, "class "+i.Class)
		}
		for n, ref := range i.Refs {
			if n == 0 {
				got = append(got, "refs")
			}
			got = append(got, fmt.Sprintf("%s/%s", *ref.Group, *ref.Kind))
			name := string(ref.Name)
			if ref.Namespace != nil {
				name = string(*ref.Namespace) + "/" + name
			}
			if ref.SectionName != nil {
				name += "#" + string(*ref.SectionName)
			}
			if ref.Port != nil {
				name += fmt.Sprint(":", *ref.Port)
			}
			got = append(got, name)
		}
		for n, l := range i.Listeners {
			if n == 0 {
				got = append(got, "listeners")
			}
			got = append(got, strings.TrimSuffix(l.Name+"="+l.Mistake.Field, "="))
		}
		if text := strings.Join(got, " "); text != test.want || i.Generation != 7 || i.Key.Name != "a" {
			t.Errorf("%s of %s: %q, want %q (%+v)", test.spec, test.kind, text, test.want, i)
		}
	}
}

// TestInvalidHasAName tells nothing of what has no name that a page or file could have,
// nor of kinds and objects that no status is for, and that no reference names.
func TestInvalidHasAName(t *testing.T) {
	gateway := gateway("a@x.io") + "oops: 1\n"
	for _, text := range []string{
		strings.Replace(gateway, "name: g", "name: ../../g", 1), strings.Replace(gateway, "name: g", "name: G", 1),
		strings.Replace(gateway, "name: g", "name: g\n  namespace: ../x", 1), strings.Replace(gateway, "name: g", "nam: g", 1),
		"apiVersion: gateway.networking.k8s.io/v1\nkind: ReferenceGrant\nmetadata: {name: a}\nspec: {to: []}\n",
	} {
		c := newStore(t, Options{}).Apply(treeOf(map[string]string{"x.yaml": text}))
		if len(c.Invalid) > 0 || !slices.ContainsFunc(c.Problems, func(p manifest.Problem) bool { return p.Severity == manifest.Error }) {
			t.Errorf("told is %q with %v of\n%s", told(c), c.Problems, text)
		}
	}
}

// TestInvalidIsBounded has more mistakes, references and text than are told of.
func TestInvalidIsBounded(t *testing.T) {
	text := strings.Replace(route("a", "/1"), "  - name: web\n", strings.Repeat("  - {name: web, sectionNam: x}\n", 300), 1)
	i := invalidOf(t, text)
	if len(i.Mistakes) != maxMistakeFields || i.More == 0 || !strings.HasSuffix(i.Message(), fmt.Sprintf("; and %d more", maxMistakeFields+i.More-1)) || len(i.Refs) != 1 {
		t.Errorf("%d mistakes and %d, %d references: %s", len(i.Mistakes), i.More, len(i.Refs), i.Message())
	}
	i = invalidOf(t, route("a", "/1")+"? "+strings.Repeat("y", 5000)+"\n: 1\n")
	if n := len(i.Message()); n > 3*maxMistakeLength {
		t.Errorf("a message of %d bytes", n)
	}
}

// TestInvalidStaysBehindTheFence lets a file that may not define an object not speak of
// it either.
func TestInvalidStaysBehindTheFence(t *testing.T) {
	cluster, err := tenancy.Parse("ns.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, Options{ClusterPaths: cluster})
	namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, annotations: {gatefold.io/paths: teams/*}}\n"
	files := map[string]string{"other/b.yaml": route("b", "no-slash"), "teams/a.yaml": route("a", "no-slash")}
	for i, want := range []string{"+default ?a ?b", "+default -b", "+default ?b"} {
		files["ns.yaml"] = space("default", "")
		if i == 1 {
			files["ns.yaml"] = namespace
		}
		c := s.Apply(treeOf(files))
		got := strings.Join(slices.DeleteFunc(strings.Fields(told(c)), func(word string) bool { return !strings.ContainsAny(word[:1], "+-?") }), " ")
		if got != want {
			t.Errorf("%d: got %q, want %q", i, got, want)
		}
	}
}

// TestPlacesOfInvalid finds its name, in the file that speaks.
func TestPlacesOfInvalid(t *testing.T) {
	s := newStore(t, Options{})
	c := s.Apply(treeOf(map[string]string{"y.yaml": route("b", "/1") + "---\n# note\n" + route("a", "no-slash"), "z.yaml": route("a", "no-slash")}))
	fields := []manifest.Field{{Object: c.Invalid[0].Key, Path: "spec"}, {Object: manifest.Key{Kind: "Service", Name: "none"}}}
	if got := s.Places(fields); got[0] != (Place{File: "y.yaml", Line: 18, Column: 9}) || got[1] != (Place{}) {
		t.Errorf("got %v", got)
	}
	s.Apply(treeOf(map[string]string{"y.yaml": route("b", "/1"), "z.yaml": "\n" + route("a", "no-slash")}))
	if got := s.Places(fields); got[0] != (Place{File: "z.yaml", Line: 5, Column: 9}) {
		t.Errorf("got %v", got)
	}
	if held := s.Apply(watcher.Tree{Root: "conf", Missing: true}); held.Hold == "" || s.Places(fields)[0].File != "z.yaml" {
		t.Error("a held folder has lost its place")
	}
}
