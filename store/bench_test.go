package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/watcher"
)

const benchRoutes = 10_000

// oneFile is a Tree of one file that holds all routes; of many, each route has
// its own file.
func oneFile() watcher.Tree {
	var b strings.Builder
	for i := range benchRoutes {
		b.WriteString(route(fmt.Sprintf("r%d", i), fmt.Sprintf("/%d", i)) + "---\n")
	}
	return treeOf(map[string]string{"all.yaml": b.String()})
}

func manyFiles() watcher.Tree { return filesOfRoutes(benchRoutes) }

func filesOfRoutes(n int) watcher.Tree {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%02d/r%d.yaml", i%100, i)] = route(fmt.Sprintf("r%d", i), fmt.Sprintf("/%d", i))
	}
	return treeOf(files)
}

// edited is the Tree with the route r500 leading elsewhere.
func edited(tree watcher.Tree) watcher.Tree {
	for f := range tree.Files.All() {
		if text := bytes.Replace(f.Content, []byte("{value: /500}"), []byte("{value: /new}"), 1); !bytes.Equal(text, f.Content) {
			f.Content, f.Hash = text, sha256.Sum256(text)
			tree.Files = tree.Files.With([]watcher.File{f}, nil)
		}
	}
	return tree
}

func BenchmarkCold(b *testing.B) {
	for name, tree := range map[string]watcher.Tree{"OneFile": oneFile(), "ManyFiles": manyFiles()} {
		b.Run(name, func(b *testing.B) {
			newStore(b, Options{}).Apply(treeOf(map[string]string{"a.yaml": route("a", "/")}))
			b.ReportAllocs()
			for b.Loop() {
				if c := newStore(b, Options{}).Apply(tree); len(c.Set) != benchRoutes {
					b.Fatal(len(c.Set), c.Problems)
				}
			}
		})
	}
}

func BenchmarkEdit(b *testing.B) {
	for name, tree := range map[string]watcher.Tree{"OneFile": oneFile(), "ManyFiles": manyFiles()} {
		b.Run(name, func(b *testing.B) {
			trees := []watcher.Tree{edited(tree), tree}
			s := newStore(b, Options{})
			s.Apply(tree)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if c := s.Apply(trees[n%2]); len(c.Set) != 1 || c.Stats.Documents != 1 {
					b.Fatal(len(c.Set), c.Stats)
				}
				n++
			}
		})
	}
}
