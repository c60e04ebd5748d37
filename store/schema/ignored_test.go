package schema

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
)

// TestIgnored writes each ignored field into an object: it is one warning, and nothing else of it is wrong.
func TestIgnored(t *testing.T) {
	for _, test := range []struct{ kind, spec, want string }{
		{"Gateway", "gatewayClassName: x, listeners: [{name: a, port: 80, protocol: HTTP}], defaultScope: All", "spec.defaultScope"},
		{"Gateway", "gatewayClassName: x, listeners: [{name: a, port: 80, protocol: HTTP}], defaultScope: None", ""},
		{"Gateway", "gatewayClassName: x, listeners: [{name: a, port: 80, protocol: HTTP}], infrastructure: {labels: {a: b}, annotations: {a: b}}", "spec.infrastructure.annotations spec.infrastructure.labels"},
		{"HTTPRoute", "useDefaultGateways: All", "spec.useDefaultGateways"},
		{"HTTPRoute", "useDefaultGateways: None", ""},
		{"GRPCRoute", "useDefaultGateways: All", "spec.useDefaultGateways"},
		{"TCPRoute", "useDefaultGateways: All, rules: [{backendRefs: [{name: a, port: 80}]}]", "spec.useDefaultGateways"},
		{"UDPRoute", "useDefaultGateways: All, rules: [{backendRefs: [{name: a, port: 80}]}]", "spec.useDefaultGateways"},
		{"TLSRoute", "useDefaultGateways: All, hostnames: [a.example], rules: [{backendRefs: [{name: a, port: 80}]}]", "spec.useDefaultGateways"},
	} {
		_, found := checked(t, doc(gatewayGroup+"/v1", test.kind, "spec: {"+test.spec+"}"))
		var fields []string
		for _, f := range found {
			if fields = append(fields, f.Field); f.Code != NotServed || !f.Warning || f.Hint == "" || !f.OfKey() {
				t.Errorf("%s of %s: %+v", test.spec, test.kind, f)
			}
		}
		if got := strings.Join(fields, " "); got != test.want {
			t.Errorf("%s of %s: got %q", test.spec, test.kind, got)
		}
	}
}

// TestEveryKindIsServedOrTold has a schema or an entry of KindNotServed for each CRD of the experimental Gateway API.
func TestEveryKindIsServedOrTold(t *testing.T) {
	module, err := gatewayAPI()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(module, "config", "crd", "experimental", "gateway.*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	set := kinds(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`(?m)^  group: (\S+)\n  names:\n(?:    .*\n)*?    kind: (\w+)$`).FindSubmatch(text)
		if names == nil {
			continue // a ValidatingAdmissionPolicy
		}
		gk := apischema.GroupKind{Group: string(names[1]), Kind: string(names[2])}
		if _, told := set.KindNotServed(gk); set.kinds[gk] == nil && !told {
			t.Errorf("%v is neither served nor told of: add it to %s", gk, notServedFile)
		}
	}
}

// TestEveryFieldIsServedOrTold looks in gatefold's code for the name of each field of the Gateway API's CRDs. One that
// no code reads has no effect: it must be one of the ignored fields, of which users are told.
func TestEveryFieldIsServedOrTold(t *testing.T) {
	code := codeOf(t, filepath.Join("..", "..", "translate"), filepath.Join("..", "..", "store"))
	known, fields := map[string]bool{}, 0
	for _, k := range crdKinds() {
		if k.Group != gatewayGroup {
			continue
		}
		eachField(k.crd[k.versions[0]].read().Schema.OpenAPIV3Schema.Properties["spec"], "spec", func(path, _ string) {
			name := path[strings.LastIndexByte(path, '.')+1:]
			ignored, told := readNotServed().Ignored[k.Kind][path]
			fields++
			switch read := strings.Contains(code, "."+goName(name)) || strings.Contains(code, `"`+name+`"`); {
			case told && (ignored.Meaning == "" || ignored.Instead == ""):
				t.Errorf("%s %s has no words", k.Kind, path)
			case !told && !read && !handledAsWhole(path):
				t.Errorf("%s %s: no code reads it; serve it, or add it to %s", k.Kind, path, notServedFile)
			}
			known[k.Kind+" "+path] = true
		})
		for path := range readNotServed().Ignored[k.Kind] {
			if !known[k.Kind+" "+path] {
				t.Errorf("%s has no field %s", k.Kind, path)
			}
		}
	}
	if fields < 400 {
		t.Errorf("only %d fields", fields)
	}
}

// handledAsWhole reports whether no code has to name a field: it is text for people, part of a selector, which a library
// reads, or part of a field whose whole is refused with a problem.
func handledAsWhole(path string) bool {
	return path == "spec.description" || strings.Contains(path, ".selector.") || strings.Contains(path, ".sessionPersistence.")
}

// goName returns the name that a field of JSON has in Go.
func goName(name string) string {
	name = strings.ToUpper(name[:1]) + name[1:]
	return strings.NewReplacer("Grpc", "GRPC", "Http", "HTTP", "Tls", "TLS", "Cors", "CORS", "Uri", "URI", "Url", "URL").Replace(name)
}

// codeOf returns the text of all Go files below folders, without tests and what is generated.
func codeOf(t *testing.T, folders ...string) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || slices.ContainsFunc([]string{"_test.go", "zz_generated"}, func(part string) bool { return strings.Contains(path, part) }) {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", folder, err))
		}
	}
	return all.String()
}
