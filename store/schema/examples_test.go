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

// moduleFiles gives the YAML files below a folder of gateway-api's module, by
// their path in that folder.
func moduleFiles(t *testing.T, folder string) map[string][]byte {
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

// shared is one set for all tests: compiling a kind takes a while.
var shared_ = sync.OnceValue(func() *Set {
	s, err := Load()
	if err != nil {
		panic(err)
	}
	return s
})

func TestGatewayAPIExamplesAreAccepted(t *testing.T) {
	checked := 0
	for path, text := range moduleFiles(t, "examples") {
		for _, object := range documents(t, text) {
			gvk := gvkOf(object)
			if !shared_().Has(gvk.GroupKind()) {
				continue
			}
			checked++
			for _, f := range shared_().Check(gvk, object) {
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

func TestInvalid(t *testing.T) {
	for path, text := range moduleFiles(t, "hack/invalid-examples") {
		for _, object := range documents(t, text) {
			gvk := gvkOf(object)
			for _, f := range shared_().Check(gvk, object) {
				t.Logf("%s: %+v", path, f)
			}
		}
	}
}
