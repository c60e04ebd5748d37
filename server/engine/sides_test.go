package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/plan"
	"github.com/gatefold/gatefold/watcher"
)

// TestSidesEqualCold edits the files of examples as people type, and worse. The first side of a plan is a cold start, and
// the second one, too, where no object has an error.
func TestSidesEqualCold(t *testing.T) {
	r := rand.New(rand.NewPCG(testsize.Seed(t), 1))
	changes, held := 0, 0
	for n := range testsize.Of(t, 60) {
		folder := Folder{Watch: watcher.Options{Root: "../../examples/" + []string{"delegation", "policies", "protect", "streams", "inclusion"}[n%5], Limits: watcher.DefaultLimits()}}
		whole, err := watcher.Read(t.Context(), folder.Watch)
		if err != nil {
			t.Fatal(err)
		}
		original := slices.Collect(whole.Files.All())
		trees := [2]watcher.Tree{whole, whole}
		for range 1 + r.IntN(4) {
			if trees[1].Files = renamed(r, trees[1].Files, original); n%4 == 0 {
				trees[1].Files = typed(r, trees[1].Files, original)
			}
		}
		if n%2 == 1 {
			trees[0], trees[1] = trees[1], trees[0]
		}
		sides, err := ReadSides(t.Context(), folder, trees)
		if err != nil {
			t.Fatal(err)
		}
		var cold [2]plan.Side
		for i := range cold {
			if cold[i], err = ReadSide(t.Context(), folder, trees[i]); err != nil {
				t.Fatal(err)
			}
		}
		if planOf(t, [2]plan.Side{cold[0], sides[0]}) != nothing {
			t.Fatalf("edit %d: the first side differs from its cold start", n)
		}
		held += len(sides[1].Judged.Held)
		if matters := func(p manifest.Problem) bool { return p.Severity == manifest.Error || p.Code == "Duplicate" }; // the live one stays
		slices.ContainsFunc(slices.Concat(cold[0].Problems, cold[1].Problems), matters) {
			continue
		}
		if planOf(t, [2]plan.Side{cold[1], sides[1]}) != nothing {
			t.Fatalf("edit %d: the second side differs from its cold start: %s", n, planOf(t, [2]plan.Side{cold[1], sides[1]}))
		}
		if got, want := planOf(t, sides), planOf(t, cold); got != want {
			t.Fatalf("edit %d: the plan is\n%s\nand of two cold starts\n%s", n, got, want)
		} else if want != nothing {
			changes++
		}
	}
	if enough := testsize.Of(t, 60) / 12; changes < enough || held < enough {
		t.Errorf("%d plans without errors change something, and %d edits are held: they prove little", changes, held)
	}
}

// renamed edits a random file without a mistake, if it has something to rename.
func renamed(r *rand.Rand, files watcher.Files, original []watcher.File) watcher.Files {
	file, ok := files.Get(original[r.IntN(len(original))].Path)
	if !ok {
		return files
	}
	edit := [][2]string{{"value: /", "value: /new"}, {"port: 90", "port: 91"}, {".com", ".org"}, {"weight: ", "weight: 1"}}[r.IntN(4)]
	content := bytes.Replace(file.Content, []byte(edit[0]), []byte(edit[1]), 1+r.IntN(3))
	return files.With([]watcher.File{{Path: file.Path, Content: content, Hash: sha256.Sum256(content)}}, nil)
}

const nothing = `{"summary":"nothing changes","changes":false,"requests":[]}`

func planOf(t *testing.T, sides [2]plan.Side) string {
	t.Helper()
	report, err := plan.Compare(t.Context(), sides[0], sides[1])
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// BenchmarkPlan measures all that `gatefold plan` does for folders of 10,000 routes, one of which was edited.
func BenchmarkPlan(b *testing.B) {
	for _, shape := range []cases.Shape{{Routes: 10_000, Hosts: 1}, {Routes: 10_000, Hosts: 100}} {
		before, after := shape.Files(), shape.Files()
		after[shape.FileOf(shape.Routes/2)] = shape.Route(shape.Routes/2, 1)
		folder := Folder{Watch: watcher.Options{Limits: watcher.DefaultLimits()}, Store: store.Options{}}
		roots := [2]string{written(b, before), written(b, after)}
		b.Run(shape.String(), func(b *testing.B) {
			for b.Loop() {
				var trees [2]watcher.Tree
				for i, root := range roots {
					options := folder.Watch
					options.Root = root
					tree, err := watcher.Read(b.Context(), options)
					if err != nil {
						b.Fatal(err)
					}
					trees[i] = tree
				}
				sides, err := ReadSides(b.Context(), folder, trees)
				if err != nil {
					b.Fatal(err)
				}
				if report, err := plan.Compare(b.Context(), sides[0], sides[1]); err != nil || len(report.Requests) != 1 {
					b.Fatalf("%v: %+v", err, report)
				}
			}
		})
	}
}

// written writes files into a new folder.
func written(b *testing.B, files map[string][]byte) (root string) {
	b.Helper()
	root = b.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return root
}
