package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/watcher"
)

// An edit of the folder of YAML looks at no Secret of the other one, and Secrets that both
// have are told of all the same.
func TestAnEditLooksAtNoSecretOfTheOtherFolder(t *testing.T) {
	dir := t.TempDir()
	web := filepath.Join(dir, "default", "web")
	if err := os.MkdirAll(web, 0o700); err != nil {
		t.Fatal(err)
	}
	crt, key := envoytest.NewAuthority(t).Issue("example.com")
	envoytest.Replace(t, filepath.Join(web, "tls.crt"), crt)
	envoytest.Replace(t, filepath.Join(web, "tls.key"), key)
	options := Folder{Secrets: dir, Watch: watcher.Options{Limits: watcher.DefaultLimits()}}
	folder, err := newReader(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	first := applied(t, folder, tree(oneGateway))
	if len(first.Set) != 2 || len(first.Problems) != 0 {
		t.Fatalf("%d objects, %v", len(first.Set), first.Problems)
	}
	folder.secrets.tree = watcher.Tree{} // whoever looks at it misses the Secret
	twice := oneGateway + "\n---\n" + tlsSecret(t, crt, key)
	second := applied(t, folder, tree(twice))
	if len(second.Set)+len(second.Gone) != 0 || len(second.Problems) != 1 || second.Problems[0].Code != "DuplicateObject" {
		t.Errorf("a Secret that both have: %d set, %d gone, %v", len(second.Set), len(second.Gone), second.Problems)
	}
	third := applied(t, folder, tree(twice+"\n# more\n"))
	if !store.SameProblems(second.Problems, third.Problems) {
		t.Error("the same problems are another list")
	}
	if last := applied(t, folder, tree(oneGateway)); len(last.Set)+len(last.Gone)+len(last.Problems) != 0 {
		t.Errorf("once more alone: %d set, %d gone, %v", len(last.Set), len(last.Gone), last.Problems)
	}
}

// applied is what a reader makes of a Tree.
func applied(t *testing.T, folder *reader, tree watcher.Tree) store.Change {
	t.Helper()
	change, err := folder.apply(t.Context(), tree, never)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

// tlsSecret is the Secret default/web as a document.
func tlsSecret(t *testing.T, crt, key []byte) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "web"}, "type": "kubernetes.io/tls",
		"data": map[string][]byte{"tls.crt": crt, "tls.key": key},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
