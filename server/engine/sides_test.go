package engine

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/plan"
	"github.com/gatefold/gatefold/watcher"
)

// TestSidesEqualCold edits the files of all examples as people type, and worse. The plan of two Trees that were
// read together is that of two cold starts.
func TestSidesEqualCold(t *testing.T) {
	whole, err := watcher.Read(t.Context(), watcher.Options{Root: "../../examples"})
	if err != nil {
		t.Fatal(err)
	}
	original := slices.Collect(whole.Files.All())
	r := rand.New(rand.NewPCG(testsize.Seed(t), 1))
	folder := Folder{Watch: watcher.Options{Root: "../../examples", Limits: watcher.DefaultLimits()}}
	changes, skipped := 0, []watcher.Skip{{Path: original[0].Path, Reason: "too large"}}
	for n := range testsize.Of(t, 20) {
		trees := [2]watcher.Tree{whole, whole}
		for range 1 + r.IntN(4) {
			trees[1].Files = typed(r, trees[1].Files, original)
		}
		switch n {
		case 7:
			trees[1].Files = watcher.Files{} // empty
		case 8:
			trees[1].Skipped = skipped
		case 9:
			trees[0].Skipped = skipped
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
		got, want := planOf(t, sides), planOf(t, cold)
		if got != want {
			t.Fatalf("edit %d: the plan is\n%s\nand of two cold starts\n%s", n, got, want)
		}
		if planOf(t, [2]plan.Side{sides[0], cold[0]})+planOf(t, [2]plan.Side{cold[1], sides[1]}) != nothing+nothing {
			t.Fatalf("edit %d: a side differs from its cold start", n)
		}
		if want != nothing {
			changes++
		}
	}
	if changes < 5 {
		t.Errorf("%d edits change something: they prove little", changes)
	}
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
