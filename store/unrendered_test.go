package store

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/tenancy"
)

func TestFoldersOfKustomizeAndHelmAreToldOnce(t *testing.T) {
	files := map[string]string{
		"own.yaml":                             route("own", "/own"),
		"base/kustomization.yaml":              "resources: [r.yaml]\n",
		"base/r.yaml":                          route("r", "/r"),
		"base/deep/kustomization.yml":          "resources: [s.yaml]\n",
		"base/deep/s.yaml":                     "kind: broken\n",
		"overlays/prod/kustomization.yaml":     "resources: [../../base]\n",
		"overlays/prod/patch.yaml":             "kind: HTTPRoute\n",
		"charts/shop/Chart.yaml":               "apiVersion: v2\nname: shop\n",
		"charts/shop/templates/route.yaml":     "a: {{ .Values.a }}\n",
		"charts/shop/templates/kustomize.yaml": "a: b\n",
	}
	change := newStore(t, Options{}).Apply(treeOf(files))
	if len(change.Set) != 1 || change.Set[0].Key.Name != "own" {
		t.Errorf("%d objects are loaded", len(change.Set))
	}
	var told []string
	for _, p := range change.Problems {
		told = append(told, p.Code+" "+p.File)
		if !strings.Contains(p.Hint, "render it first") {
			t.Error(p.Hint)
		}
	}
	if got, want := strings.Join(told, "\n"), "KustomizeFolder base/kustomization.yaml\nHelmChart charts/shop/Chart.yaml\nKustomizeFolder overlays/prod/kustomization.yaml"; got != want {
		t.Errorf("told:\n%s\nwant:\n%s", got, want)
	}
}

func TestAKustomizationTakesNothingDown(t *testing.T) {
	s := newStore(t, Options{})
	files := map[string]string{"team/r.yaml": route("r", "/r")}
	s.Apply(treeOf(files))
	files["team/kustomization.yaml"] = "resources: [r.yaml]\n"
	change := s.Apply(treeOf(files))
	if len(change.Gone) != 0 || len(change.Problems) != 1 {
		t.Errorf("gone %v, problems %v", change.Gone, change.Problems)
	}
	delete(files, "team/kustomization.yaml")
	if change = s.Apply(treeOf(files)); len(change.Gone)+len(change.Problems) != 0 {
		t.Errorf("gone %v, problems %v", change.Gone, change.Problems)
	}
	files["team/r.yaml"] = route("r", "/new")
	if change = s.Apply(treeOf(files)); len(change.Set) != 1 {
		t.Errorf("an edit afterwards sets %d objects", len(change.Set))
	}
}

// A folder with two marker files is rendered until both are gone.
func TestAFolderOfTwoToolsIsRenderedUntilBothAreGone(t *testing.T) {
	s := newStore(t, Options{})
	files := map[string]string{"a/r.yaml": route("r", "/r"), "a/kustomization.yaml": "resources: []\n", "a/Chart.yaml": "name: a\n"}
	for _, gone := range []string{"", "a/kustomization.yaml"} {
		delete(files, gone)
		if change := s.Apply(treeOf(files)); len(change.Set) != 0 || len(change.Problems) != 1 {
			t.Errorf("without %q: %d objects, %v", gone, len(change.Set), change.Problems)
		}
	}
	delete(files, "a/Chart.yaml")
	if change := s.Apply(treeOf(files)); len(change.Set) != 1 || len(change.Problems) != 0 {
		t.Errorf("without both: %d objects, %v", len(change.Set), change.Problems)
	}
}

// Under path policies, a kustomization of one team keeps no files of others from being loaded.
func TestAKustomizationCountsInClusterPathsOnly(t *testing.T) {
	globs, err := tenancy.Parse("platform/**")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"kustomization.yaml": "resources: []\n", "a/r.yaml": route("r", "/r"), "platform/n.yaml": space("default", "")}
	if change := newStore(t, Options{ClusterPaths: globs}).Apply(treeOf(files)); len(change.Set) != 2 {
		t.Errorf("%d objects, %v", len(change.Set), change.Problems)
	}
}
