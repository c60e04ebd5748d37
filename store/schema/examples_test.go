package schema

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// gatewayAPI gives the folder of the module sigs.k8s.io/gateway-api.
var gatewayAPI = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	return strings.TrimSpace(string(out)), err
})

// oneSet is the Set of all tests: compiling a kind takes a while.
var oneSet = sync.OnceValues(Load)

func kinds(t testing.TB) *Set {
	t.Helper()
	set, err := oneSet()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// moduleFiles returns the YAML files below a folder of gateway-api's module, by
// their path in that folder.
func moduleFiles(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	dir, err := gatewayAPI()
	if err != nil {
		t.Fatalf("where is gateway-api: %v", err)
	}
	root := os.DirFS(filepath.Join(dir, folder))
	files := map[string][]byte{}
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		files[path], err = fs.ReadFile(root, path)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s: %v", len(files), folder, err)
	}
	return files
}

// documents decodes the YAML documents of a file, leaving out empty ones.
func documents(t testing.TB, text []byte) []map[string]any {
	t.Helper()
	var all []map[string]any
	for part := range bytes.SplitSeq(append([]byte("\n"), text...), []byte("\n---")) {
		object := map[string]any{}
		data, err := yaml.YAMLToJSON(part)
		if err == nil {
			err = utiljson.Unmarshal(data, &object)
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, part)
		}
		if len(object) > 0 {
			all = append(all, object)
		}
	}
	return all
}

func gvkOf(object map[string]any) schema.GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

func TestGatewayAPIExamplesAreAccepted(t *testing.T) {
	checked := 0
	for path, text := range moduleFiles(t, "examples") {
		for _, object := range documents(t, text) {
			gvk := gvkOf(object)
			if kinds(t).Versions(gvk.GroupKind()) == nil {
				continue
			}
			checked++
			for _, f := range kinds(t).Check(gvk, object) {
				if !f.Warning {
					t.Errorf("%s: %s: %+v", path, gvk.Kind, f)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d documents were checked", checked)
	}
}

// invalid names for each of gateway-api's invalid examples what must be found:
// code and field. Other findings may come with it.
var invalid = map[string][2]string{
	"experimental/httproute/invalid-filter-externalauth-empty.yaml":         {RuleViolated, "spec.rules[0].filters[0]"},
	"experimental/httproute/invalid-filter-externalauth-bad-http-path.yaml": {InvalidValue, "spec.rules[0].filters[0].externalAuth.http.path"},
	"experimental/httproute/invalid-filter-externalauth-no-protocol.yaml":   {RequiredField, "spec.rules[0].filters[0].externalAuth.protocol"},
	"experimental/httproute/invalid-header-value.yaml":                      {InvalidValue, "spec.rules[0].filters[0].responseHeaderModifier.add[0].value"},
	"standard/httproute/invalid-backend-kind.yaml":                          {InvalidValue, "spec.rules[0].backendRefs[0].kind"},
	"standard/httproute/invalid-backend-group.yaml":                         {InvalidValue, "spec.rules[0].backendRefs[0].group"},
	"standard/httproute/httproute-portless-backend.yaml":                    {RuleViolated, "spec.rules[0].backendRefs[0]"},
	"standard/httproute/duplicate-header-match.yaml":                        {DuplicateEntry, "spec.rules[0].matches[0].headers[1]"},
	"standard/httproute/invalid-path-alphanum-specialchars-mix.yaml":        {RuleViolated, "spec.rules[0].matches[0].path"},
	"standard/httproute/invalid-filter-duplicate.yaml":                      {RuleViolated, "spec.rules[0].filters"},
	"standard/httproute/invalid-hostname.yaml":                              {InvalidValue, "spec.hostnames[0]"},
	"standard/httproute/invalid-httpredirect-hostname.yaml":                 {InvalidValue, "spec.rules[0].filters[0].requestRedirect.hostname"},
	"standard/httproute/invalid-backend-port.yaml":                          {InvalidValue, "spec.rules[0].backendRefs[0].port"},
	"standard/httproute/invalid-filter-duplicate-header.yaml":               {DuplicateEntry, "spec.rules[0].filters[0].requestHeaderModifier.remove[1]"},
	"standard/httproute/invalid-filter-empty.yaml":                          {RuleViolated, "spec.rules[0].filters[0]"},
	"standard/httproute/invalid-header-name.yaml":                           {InvalidValue, "spec.rules[0].matches[0].headers[0].name"},
	"standard/httproute/invalid-filter-wrong-field.yaml":                    {RuleViolated, "spec.rules[0].filters[0]"},
	"standard/httproute/httproute-portless-service.yaml":                    {RuleViolated, "spec.rules[0].backendRefs[0]"},
	"standard/httproute/duplicate-query-match.yaml":                         {DuplicateEntry, "spec.rules[0].matches[0].queryParams[1]"},
	"standard/httproute/invalid-method.yaml":                                {NotAllowedValue, "spec.rules[0].matches[0].method"},
	"standard/httproute/invalid-path-specialchars.yaml":                     {RuleViolated, "spec.rules[0].matches[0].path"},
	"standard/httproute/invalid-request-redirect-with-backendref.yaml":      {RuleViolated, "spec.rules[0]"},
	"standard/gateway/invalid-listener-port.yaml":                           {InvalidValue, "spec.listeners[0].port"},
	"standard/gateway/hostname-tcp.yaml":                                    {RuleViolated, "spec.listeners"},
	"standard/gateway/tlsconfig-tcp.yaml":                                   {RuleViolated, "spec.listeners"},
	"standard/gateway/hostname-udp.yaml":                                    {RuleViolated, "spec.listeners"},
	"standard/gateway/invalid-listener-name.yaml":                           {InvalidValue, "spec.listeners[0].name"},
	"standard/gateway/invalid-addresses.yaml":                               {InvalidValue, "spec.addresses[8].value"},
	"standard/gateway/invalid-tls-mode.yaml":                                {RuleViolated, "spec.listeners"},
	"standard/gateway/duplicate-listeners.yaml":                             {DuplicateEntry, "spec.listeners[1]"},
	"standard/referencegrant/missing-from.yaml":                             {RequiredField, "spec.from"},
	"standard/referencegrant/missing-to.yaml":                               {RequiredField, "spec.to"},
	"standard/referencegrant/missing-ns.yaml":                               {RequiredField, "spec.from[0].namespace"},
	"standard/gatewayclass/invalid-controller.yaml":                         {InvalidValue, "spec.controllerName"},
	"standard/tlsroute/no-hostname.yaml":                                    {RequiredField, "spec.hostnames"},
	"standard/tlsroute/invalid-hostname.yaml":                               {InvalidValue, "spec.hostnames[0]"},
}

func TestGatewayAPIInvalidExamplesAreRejected(t *testing.T) {
	files := moduleFiles(t, "hack/invalid-examples")
	if len(files) != len(invalid) {
		t.Errorf("%d files, %d rows", len(files), len(invalid))
	}
	for path, text := range files {
		want, found := invalid[path]
		if !found {
			t.Errorf("%s has no row", path)
			continue
		}
		for _, object := range documents(t, text) {
			if all := kinds(t).Check(gvkOf(object), object); !has(all, want[0], want[1]) {
				t.Errorf("%s: no %s at %s in %+v", path, want[0], want[1], all)
			}
		}
	}
}

func has(all []Finding, code, field string) bool {
	for _, f := range all {
		if f.Code == code && f.Field == field && !f.Warning {
			return true
		}
	}
	return false
}
