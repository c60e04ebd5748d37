package watcher

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReadsIsWhatIsRead holds that a file is read exactly where Reads said so before it was written.
func TestReadsIsWhatIsRead(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, IgnoreFile), []byte("drafts/\n*_test.yaml\n!keep_test.yaml\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := Options{Root: root, Ignore: Ignore{File: IgnoreRead, Globs: []string{"/old/*.yml"}}}
	for name, want := range map[string]bool{
		"a.yaml": true, "b/c/d.yml": true, "e.json": true, "f.txt": false, ".g.yaml": false, ".h/i.yaml": false, "drafts/j.yaml": false,
		"b/drafts/k.yaml": false, "l_test.yaml": false, "keep_test.yaml": true, "old/m.yml": false, "old/n.yaml": true, "é.yaml": true,
	} {
		if got := Reads(opt, name); got != want {
			t.Errorf("%s: %t before it is written", name, got)
		}
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		tree, err := Read(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if _, read := tree.Files.Get(name); read != want || Reads(opt, name) != want {
			t.Errorf("%s: read %t", name, read)
		}
	}
}
