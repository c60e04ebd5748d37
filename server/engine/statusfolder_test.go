package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// A file whose status stays the same is not written again.
func TestStatusFileOfTheSameIsLeft(t *testing.T) {
	folder := statusFolder{dir: t.TempDir()}
	defer folder.close()
	stat := func(text string) os.FileInfo {
		t.Helper()
		if _, err := folder.open(); err != nil {
			t.Fatal(err)
		}
		if err := folder.put("g/k/n/a.yaml", []byte(text)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(folder.dir, "g/k/n/a.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := stat("a: 1\n")
	if !os.SameFile(first, stat("a: 1\n")) {
		t.Error("it was written again")
	}
	if os.SameFile(first, stat("a: 2\n")) {
		t.Error("it was written in place, and not by a rename")
	}
}

// No path leads out of the folder, neither by a name nor by a link.
func TestStatusFilesStayInTheirFolder(t *testing.T) {
	outside := t.TempDir()
	folder := statusFolder{dir: t.TempDir()}
	defer folder.close()
	if _, err := folder.open(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder.dir, "g")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "b.yaml"), []byte(statusMark), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"g/a.yaml", "../a.yaml", "/a.yaml", outside + "/a.yaml"} {
		if err := folder.put(file, nil); err == nil {
			t.Errorf("%s was written", file)
		}
	}
	if err := folder.remove("g/b.yaml"); err == nil {
		t.Error("g/b.yaml was removed")
	}
	if there, err := os.ReadDir(outside); err != nil || len(there) != 1 {
		t.Errorf("outside is %v, %v", there, err)
	}
}

// Each object has a file of its own, whose name is none too long for a disk.
func TestStatusFileOfEachObject(t *testing.T) {
	long := strings.Repeat("a", 252)
	seen := map[string]manifest.Key{}
	for _, key := range []manifest.Key{
		{Group: "g", Kind: "K", Namespace: "n", Name: "a"}, {Kind: "K", Namespace: "n", Name: "a"}, {Group: "g", Kind: "K", Name: "a"},
		{Group: "g", Kind: "K", Namespace: "n", Name: long + "a"}, {Group: "g", Kind: "K", Namespace: "n", Name: long + "b"},
	} {
		file := statusFile(key)
		if other, taken := seen[file]; taken || len(filepath.Base(file)) > 255 {
			t.Errorf("%s: %s, which %s has", key, file, other)
		}
		seen[file] = key
	}
	if file := statusFile(manifest.Key{Kind: "K", Name: "a"}); file != "core/K/_cluster/a.yaml" {
		t.Error(file)
	}
}
