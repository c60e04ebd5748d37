package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/watcher"
)

// TestLiveEqualsCold edits the files of all examples as people type, and worse, and holds what Live
// says of each text against a cold start.
func TestLiveEqualsCold(t *testing.T) {
	whole, err := watcher.Read(t.Context(), watcher.Options{Root: "../../examples"})
	if err != nil {
		t.Fatal(err)
	}
	original := slices.Collect(whole.Files.All())
	if len(original) < 20 {
		t.Fatalf("%d files", len(original))
	}
	r := rand.New(rand.NewPCG(testsize.Seed(t), 0))
	for _, clusterPaths := range [][]string{nil, {"teams/cluster/**"}} {
		folder := Folder{Watch: watcher.Options{Root: "../../examples", Limits: watcher.DefaultLimits()}}
		folder.Store.ClusterPaths = clusterPaths
		live, tree, seen := NewLive(folder), whole, map[string]bool{}
		for range testsize.Of(t, 60) {
			tree.Files = typed(r, tree.Files, original)
			got, err := live.Read(context.Background(), tree)
			if err != nil {
				t.Fatal(err)
			}
			want, err := ReadTree(context.Background(), folder, tree)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range want.Problems {
				seen[p.Code] = true
			}
			if len(got)+len(want.Problems) > 0 && !reflect.DeepEqual(got, want.Problems) {
				t.Fatalf("live: %v\n\ncold: %v", got, want.Problems)
			}
		}
		if len(seen) < 3 {
			t.Errorf("only the problems %v were met", seen)
		}
	}
}

// typed edits a file: it removes or doubles a line, types a letter, cuts the text, empties, removes
// or restores the file, or moves its text to another one.
func typed(r *rand.Rand, files watcher.Files, original []watcher.File) watcher.Files {
	file := original[r.IntN(len(original))]
	name, content := file.Path, file.Content
	if now, ok := files.Get(name); ok && r.IntN(3) > 0 {
		content = now.Content
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	at := r.IntN(len(lines))
	switch r.IntN(8) {
	case 0:
		lines = slices.Delete(slices.Clone(lines), at, at+1)
	case 1:
		lines = slices.Insert(slices.Clone(lines), at, lines[at])
	case 2, 3:
		if len(lines[at]) > 0 {
			i := r.IntN(len(lines[at]))
			letter := []byte{"ax:- [{\"#\n0"[r.IntN(11)]}
			lines = slices.Clone(lines)
			lines[at] = slices.Concat(lines[at][:i], letter, lines[at][i:])
		}
	case 4:
		lines = lines[:at]
	case 5:
		return files.With(nil, []string{name})
	case 6:
		name = filepath.Dir(name) + "/moved.yaml"
	}
	content = bytes.Join(lines, nil)
	return files.With([]watcher.File{{Path: name, Content: content, Hash: sha256.Sum256(content)}}, nil)
}

// TestLiveForgets: of an object that becomes invalid, an empty folder and a folder that is frozen, Live
// says what a cold start says.
func TestLiveForgets(t *testing.T) {
	fence := "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {gatefold.io/paths: a/**}}\n"
	gateway := "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg}\nspec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}\n"
	route := "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec: {parentRefs: [{name: eg}]}\n"
	folder := Folder{Watch: watcher.Options{Root: "x", Limits: watcher.DefaultLimits()}}
	live := NewLive(folder)
	for step, files := range []map[string]string{
		{"g.yaml": gateway, "r.yaml": route},
		{"g.yaml": gateway + "x: 1\n", "r.yaml": route}, // invalid: no route has a parent
		{"g.yaml": gateway, "r.yaml": route},
		{"r.yaml": route}, // the other file is skipped
		{"g.yaml": gateway, "r.yaml": route},
		{},
		{"g.yaml": gateway, "r.yaml": route, "n.yaml": fence}, // frozen: no --cluster-paths
		{"g.yaml": gateway, "r.yaml": route},
		{"g.yaml": gateway, "r.yaml": route, "a.yaml": gateway}, // two of one key: the first serves
		{"g.yaml": gateway, "r.yaml": route},
	} {
		var all []watcher.File
		for name, text := range files {
			all = append(all, watcher.File{Path: name, Content: []byte(text), Hash: sha256.Sum256([]byte(text))})
		}
		tree := watcher.Tree{Root: "x", Files: watcher.FilesOf(all...)}
		if len(files) == 1 {
			tree.Skipped = []watcher.Skip{{Path: "g.yaml", Reason: watcher.TooLarge, Detail: "too large"}}
		}
		got, err := live.Read(t.Context(), tree)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ReadTree(t.Context(), folder, tree)
		if err != nil {
			t.Fatal(err)
		}
		if len(got)+len(want.Problems) > 0 && !reflect.DeepEqual(got, want.Problems) {
			t.Errorf("step %d: live: %v\n\ncold: %v", step, got, want.Problems)
		}
	}
}
