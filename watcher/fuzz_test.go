package watcher

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const outside = "kind: Secret # nobody may read this"

// FuzzRead makes a folder of any names, files, directories and links, and reads it:
// each file is read as it stands, nothing outside of the folder is, and what was read
// once is read the same again.
func FuzzRead(f *testing.F) {
	f.Add("f a.yaml\nd b.yaml\nf c/d.json\nl e.yaml a.yaml\nl g.yaml ../secret.yaml\nl h.yaml h.yaml\np i.yaml\nl j ../\nl k c\nf k/l.yml\n")
	f.Add("l a.yaml /etc/passwd\nl b ..\nl c .\nf .hidden.yaml\nf .git/index.lock\nd ..data\nl d.yaml ..data/x\nf \xff.yaml\nf \u202e.yaml\nf a\tb.yaml")
	f.Add("l a b\nl b a\nl c.yaml c.yaml/d\nf " + strings.Repeat("x", 300) + ".yaml\nf d.yaml~\nf #d.yaml#\nf 4913\nl e.yaml " + strings.Repeat("../", 40) + "secret.yaml\n")
	f.Fuzz(func(t *testing.T, script string) {
		if len(script) > 1024 {
			return
		}
		above := t.TempDir()
		folder := filepath.Join(above, "root")
		if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(above, "secret.yaml"), []byte(outside), 0o600)); err != nil {
			t.Fatal(err)
		}
		build(folder, script)
		opt := Options{Root: folder}
		tree, err := Read(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		for file := range tree.Files.All() {
			if bytes.Contains(file.Content, []byte(outside)) {
				t.Errorf("%q is read, and lies outside", file.Path)
			}
			text, err := os.ReadFile(filepath.Join(folder, file.Path))
			if err != nil || !bytes.Equal(text, file.Content) || file.Hash != sha256.Sum256(text) {
				t.Errorf("%q is read as %q: %v", file.Path, file.Content, err)
			}
		}
		files := slices.Collect(tree.Files.All())
		if !slices.IsSortedFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) }) {
			t.Errorf("not sorted: %+v", files)
		}
		for _, skip := range tree.Skipped {
			if skip.Reason == "" || strings.Contains(skip.Detail, outside) {
				t.Errorf("%+v", skip)
			}
		}
		again, err := Read(t.Context(), opt)
		if err != nil || !again.Same(&tree) {
			t.Errorf("read again, it is another tree: %v", err)
		}
	})
}

// build does what the lines of a script say, below root, as far as the system lets it:
// "f PATH" makes a file, "d PATH" a directory, "p PATH" a FIFO, "l PATH TO" a link.
func build(root, script string) {
	for line := range strings.Lines(script) {
		kind, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, to, _ := strings.Cut(name, " ")
		if !filepath.IsLocal(name) {
			continue
		}
		// Not through a link that leads out: the test shall not write elsewhere.
		parent := filepath.Join(root, filepath.Dir(name))
		if at, err := filepath.EvalSymlinks(parent); err == nil && at != parent {
			continue
		}
		path := filepath.Join(root, name)
		if os.MkdirAll(parent, 0o700) != nil {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		switch kind {
		case "f":
			_ = os.WriteFile(path, []byte("kind: "+name), 0o600)
		case "d":
			_ = os.Mkdir(path, 0o700)
		case "p":
			_ = syscall.Mkfifo(path, 0o600)
		case "l":
			_ = os.Symlink(to, path)
		}
	}
}
