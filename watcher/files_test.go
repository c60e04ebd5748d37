package watcher

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever is put in and taken out, Files are what a sorted list of them is, and
// Since tells two of them apart.
func TestFilesAreASortedList(t *testing.T) {
	for seed := range uint64(5) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		model, files := map[string]File{}, Files{}
		old, oldModel := files, map[string]File{}
		for round := range 300 {
			set, gone := randomFiles(rnd, 1+rnd.IntN(1+rnd.IntN(400)))
			for _, file := range set {
				model[file.Path] = file
			}
			for _, path := range gone {
				delete(model, path)
			}
			files = files.With(set, gone)
			wantFilesOf(t, files, model)
			wantSince(t, files, old, model, oldModel)
			if round%7 == 0 {
				old, oldModel = files, maps.Clone(model)
			}
			if t.Failed() {
				t.Fatalf("seed %d, round %d", seed, round)
			}
		}
		wantFilesOf(t, old, oldModel) // nothing that was handed out has changed
	}
}

// randomFiles returns files to set and paths to remove, n together.
func randomFiles(rnd *rand.Rand, n int) (set []File, gone []string) {
	seen := map[string]bool{}
	for range n {
		path := fmt.Sprintf("%03d.yaml", rnd.IntN(2000))
		switch {
		case seen[path]:
		case rnd.IntN(2) == 0:
			gone = append(gone, path)
		default:
			content := fmt.Appendf(nil, "%d", rnd.IntN(3))
			set = append(set, File{path, content, sha256.Sum256(content)})
		}
		seen[path] = true
	}
	return set, gone
}

func wantFilesOf(t *testing.T, files Files, model map[string]File) {
	t.Helper()
	paths, bytes := []string{}, int64(0)
	for file := range files.All() {
		paths = append(paths, file.Path)
		bytes += int64(len(file.Content))
		if file.Hash != model[file.Path].Hash {
			t.Errorf("%s has the content %q, want %q", file.Path, file.Content, model[file.Path].Content)
		}
		if got, ok := files.Get(file.Path); !ok || got.Hash != file.Hash {
			t.Errorf("Get does not find %s", file.Path)
		}
	}
	if want := slices.Sorted(maps.Keys(model)); !slices.Equal(paths, want) {
		t.Errorf("files %v, want %v", paths, want)
	}
	if files.Len() != len(model) || files.Bytes() != bytes {
		t.Errorf("%d files of %d bytes, want %d of %d", files.Len(), files.Bytes(), len(model), bytes)
	}
	if n := len(files.chunks); n > 2+4*len(model)/chunkSize {
		t.Errorf("%d chunks for %d files", n, len(model))
	}
	if _, ok := files.Get("none"); ok {
		t.Error("Get finds what is not there")
	}
}

func wantSince(t *testing.T, files, old Files, model, oldModel map[string]File) {
	t.Helper()
	changed, gone := files.Since(old)
	for _, file := range changed {
		if before, ok := oldModel[file.Path]; ok && before.Hash == file.Hash || model[file.Path].Hash != file.Hash {
			t.Errorf("%s did not change", file.Path)
		}
	}
	want := 0
	for path, file := range model {
		if before, ok := oldModel[path]; !ok || before.Hash != file.Hash {
			want++
		}
	}
	wantGone := 0
	for path := range oldModel {
		if _, ok := model[path]; !ok {
			wantGone++
		}
	}
	if len(changed) != want || len(gone) != wantGone {
		t.Errorf("%d changed and %d gone, want %d and %d", len(changed), len(gone), want, wantGone)
	}
}

// An edit copies its chunk: all others are shared, and are not compared.
func TestFilesShareWhatDidNotChange(t *testing.T) {
	var all []File
	for i := range 100_000 {
		all = append(all, File{Path: fmt.Sprintf("%06d.yaml", i)})
	}
	before := FilesOf(all...)
	after := before.With([]File{{Path: "050000.yaml", Hash: Hash{1}}, {Path: "050000b.yaml"}}, []string{"050001.yaml"})
	own := 0
	for _, c := range after.chunks {
		if !slices.Contains(before.chunks, c) {
			own++
		}
	}
	if own != 1 {
		t.Errorf("%d of %d chunks were copied, want 1", own, len(after.chunks))
	}
	if changed, gone := after.Since(before); len(changed) != 2 || len(gone) != 1 {
		t.Errorf("%d changed, %d gone", len(changed), len(gone))
	}
}
