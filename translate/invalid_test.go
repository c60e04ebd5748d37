package translate_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/explain"
)

// soundFolder serves one Gateway.
const soundFolder = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: sound}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 3000}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: sound}
spec:
  parentRefs: [{name: sound}]
  rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}]
`

// TestInvalidExamplesHurtNobody puts each of gateway-api's invalid examples beside a
// folder that serves, and all of them together: each is an error with its place, and
// what serves stays byte for byte. An object that an API server would not have taken
// has no status; the one that is admitted for its sound listeners has no traffic, as
// all of its listeners are twins.
func TestInvalidExamplesHurtNobody(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatalf("where is gateway-api: %v", err)
	}
	root := os.DirFS(filepath.Join(strings.TrimSpace(string(dir)), "hack/invalid-examples"))
	class := regexp.MustCompile("gatewayClassName: .*")
	w := newWorld(t)
	all := map[string]string{"sound.yaml": soundFolder}
	w.apply(tree(all))
	served, statuses := w.xdsText(), len(w.statuses)
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, path)
		text = class.ReplaceAll(text, []byte("gatewayClassName: gatefold"))
		name := strings.ReplaceAll(path, "/", "-")
		all[name] = string(text)
		problems := w.apply(tree(map[string]string{"sound.yaml": soundFolder, name: string(text)}))
		w.staysAs(t, path, served, statuses)
		if !hasError(problems, name) {
			t.Errorf("%s: no error with a line in %v", path, problems)
		}
		return err
	})
	if err != nil || len(all) < 30 {
		t.Fatalf("%d examples: %v", len(all)-1, err)
	}
	w.apply(tree(all))
	w.staysAs(t, "all of them", served, statuses)
}

func hasError(problems []store.Problem, file string) bool {
	for _, p := range problems {
		if p.File == file && p.Severity == store.Error && p.Line > 0 {
			return true
		}
	}
	return false
}

// staysAs compares what a world serves with what it served.
func (w *world) staysAs(t *testing.T, what, served string, statuses int) {
	t.Helper()
	if got := w.xdsText(); got != served {
		t.Errorf("%s: what serves differs at %s", what, firstDifference(got, served))
	}
	answer := explain.Request(w.view(), explain.Query{Scheme: "http", Host: "x:8080", Port: 8080, Method: "GET", Path: "/"})
	if answer.Rule == nil || answer.Rule.Root.Key.Name != "sound" {
		t.Errorf("%s: the sound route does not answer", what)
	}
	twins := strings.Contains(what, "duplicate-listeners") || what == "all of them"
	if extra := len(w.statuses) - statuses; extra != map[bool]int{true: 1}[twins] {
		t.Errorf("%s: %d objects more have a status", what, extra)
	}
}
