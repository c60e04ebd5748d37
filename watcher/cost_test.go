package watcher

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// BenchmarkAtRest prints what a folder of 10,000 files costs while nothing
// happens: the CPU time of a fallback scan and, with the rest that follows it,
// the share of one core (docs/design/inputs.md: at most 1 %); and the memory kept.
func BenchmarkAtRest(b *testing.B) {
	root := crowd(b, 10_000, 100)
	heap := heapInUse()
	w, err := newWatch(Options{Root: root}.withDefaults(), zerolog.Nop())
	must(b, err)
	go w.events.drain()
	defer w.events.close()
	w.pass(false)
	<-w.out
	kept := heapInUse() - heap
	stats, share := w.opt.Stats, 0.0
	scans, cpu := stats.Scans.Load(), stats.ScanTime.Load()
	for b.Loop() {
		w.nextScan = time.Time{}
		before, start := stats.ScanTime.Load(), time.Now()
		w.pass(false)
		spent := time.Duration(stats.ScanTime.Load() - before)
		share += float64(spent) / float64(w.nextScan.Sub(start))
	}
	scans = stats.Scans.Load() - scans
	b.ReportMetric(float64(stats.ScanTime.Load()-cpu)/float64(scans)/1e6, "cpu-ms/scan")
	b.ReportMetric(100*share/float64(scans), "%core")
	b.ReportMetric(float64(kept)/10_000, "B/file")
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Edits and flips without end take no more memory, descriptors and watches
// than the first ones did.
func TestNothingGrows(t *testing.T) {
	base := t.TempDir()
	current := filepath.Join(base, "current")
	n := 0
	publish := func() {
		n++
		put(t, "1", base, ".trees", fmt.Sprint(n), "sub", "a.yaml")
		relink(t, ".trees/"+fmt.Sprint(n), base, "current")
		must(t, removeAll(filepath.Join(base, ".trees", fmt.Sprint(n-1))))
	}
	publish()
	w := step(t, current)
	round := func() (heap int64, descriptors, watches int) {
		for i := range 300 {
			if i%10 == 0 {
				publish()
			}
			replaceFile(t, fmt.Sprint(n, i, strings.Repeat("x", 1<<16)), current, "sub", fmt.Sprint(i%7, ".yaml"))
			w.settle.force()
			w.pass(true)
			if tree := (<-w.out).tree; tree.Files.Len() != 1+min(i%10+1, 7) {
				t.Fatalf("%d files after %d edits of a fresh tree", tree.Files.Len(), i%10+1)
			}
		}
		open, err := filepath.Glob("/proc/self/fd/*") // none where there is no such folder
		must(t, err)
		return heapInUse(), len(open), kernelWatches(t)
	}
	heap, descriptors, watches := round()
	for range 3 {
		h, d, k := round()
		if h > heap+2<<20 || d > descriptors || k > watches {
			t.Errorf("%d bytes, %d descriptors, %d watches; %d, %d, %d after the first round", h, d, k, heap, descriptors, watches)
		}
	}
}
