package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// sources has the YAML of all CRDs by kind: those of gateway-api, and those that are generated from package api.
var sources = sync.OnceValues(func() (map[string][]byte, error) {
	module, err := gatewayAPI()
	if err != nil {
		return nil, fmt.Errorf("where is gateway-api: %w", err)
	}
	all := map[string][]byte{}
	for _, folder := range []string{filepath.Join("..", "api", "crds"), filepath.Join(module, "config", "crd", "experimental")} {
		files, err := filepath.Glob(filepath.Join(folder, "gateway.*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if kind := regexp.MustCompile(`(?m)^    kind: (\w+)$`).FindSubmatch(text); kind != nil {
				all[string(kind[1])] = text
			}
		}
	}
	return all, nil
})

// sourceCRD returns the YAML of a kind's CRD.
func sourceCRD(t testing.TB, k *kind) []byte {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	return all[k.Kind]
}

// parseCRD returns the CRD of a kind. A field that CRDs do not have is an error.
func parseCRD(t testing.TB, k *kind) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(sourceCRD(t, k), crd); err != nil {
		t.Fatalf("%s: %v", k.Kind, err)
	}
	return crd
}

// TestEmbeddedVersionsAreThoseOfTheCRDs compares the embedded files with the CRDs; UPDATE=1 writes them.
func TestEmbeddedVersionsAreThoseOfTheCRDs(t *testing.T) {
	want := map[string][]byte{}
	for _, k := range crdKinds() {
		var crd struct {
			Spec struct{ Versions []map[string]any }
		}
		if err := yaml.Unmarshal(sourceCRD(t, k), &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			embedded, used := k.crd[version["name"].(string)]
			if !used {
				continue // TestTableOfKinds says which are used
			}
			var text bytes.Buffer
			out := json.NewEncoder(&text)
			out.SetEscapeHTML(false)
			out.SetIndent("", " ")
			if err := out.Encode(version); err != nil {
				t.Fatal(err)
			}
			want[embedded.file] = text.Bytes()
		}
	}
	if os.Getenv("UPDATE") != "" {
		writeVersions(t, want)
		return
	}
	files, err := fs.Glob(crds, "crds/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if got, err := crds.ReadFile(file); err != nil || !bytes.Equal(got, want[file]) {
			t.Errorf("%s is not what the CRD has (%v): UPDATE=1 go test ./store/schema -run TestEmbeddedVersions writes it", file, err)
		}
		delete(want, file)
	}
	for file := range want {
		t.Errorf("%s is missing", file)
	}
}

// writeVersions makes the folder crds have these files and no other ones.
func writeVersions(t *testing.T, want map[string][]byte) {
	old, err := filepath.Glob("crds/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range want {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// kindNamed returns the entry of a kind with a CRD.
func kindNamed(t testing.TB, name string) *kind {
	t.Helper()
	all := crdKinds()
	i := slices.IndexFunc(all, func(k *kind) bool { return k.Kind == name })
	if i < 0 {
		t.Fatalf("no kind %s has a CRD", name)
	}
	return all[i]
}
