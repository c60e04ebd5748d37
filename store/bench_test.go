package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

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

// BenchmarkCold takes a folder for the first time. times-once is the CPU time of
// the process as a multiple of what reading each document once took in the same
// run, by one goroutine and with the same garbage collector: 1 is the least.
// cores is how many it used.
func BenchmarkCold(b *testing.B) {
	for name, tree := range map[string]watcher.Tree{"OneFile": oneFile(), "ManyFiles": manyFiles()} {
		b.Run(name, func(b *testing.B) {
			newStore(b, Options{}).Apply(treeOf(map[string]string{"a.yaml": route("a", "/")}))
			b.ReportAllocs()
			var once, cold, wall time.Duration
			for b.Loop() {
				b.StopTimer()
				once += readOnce(b, tree)
				b.StartTimer()
				begin, cpu := time.Now(), cpuTime()
				if c := newStore(b, Options{}).Apply(tree); len(c.Set) != benchRoutes {
					b.Fatal(len(c.Set), c.Problems)
				}
				cold += cpuTime() - cpu
				wall += time.Since(begin)
			}
			b.ReportMetric(float64(cold)/float64(once), "times-once")
			b.ReportMetric(float64(cold)/float64(wall), "cores")
			b.ReportMetric(float64(cold.Milliseconds())/float64(b.N), "cpu-ms")
		})
	}
}

// readOnce reads and validates each document of the Tree once, keeps the results
// as a Store does, and returns the CPU time that it took.
func readOnce(b *testing.B, tree watcher.Tree) time.Duration {
	r := newStore(b, Options{}).sources.reader
	var parts []part
	for f := range tree.Files.All() {
		parts = append(parts, splitDocuments(f.Content)...)
	}
	runtime.GC()
	begin := cpuTime()
	kept := make([]*result, len(parts))
	for i, p := range parts {
		kept[i] = r.read(p.text)
	}
	took := cpuTime() - begin
	runtime.KeepAlive(kept)
	return took
}

// cpuTime is the CPU time of this process so far.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
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
