package journal

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store"
)

// BenchmarkOpen reads a journal of 10,000 objects as they usually are.
func BenchmarkOpen(b *testing.B) {
	const objects = 10_000
	options := optionsOf(b.TempDir())
	j, _ := open(b, options)
	var all []store.Saved
	for i := range objects {
		one := saved(fmt.Sprintf("route-%06d", i), strings.Repeat("  field: [value, \"other\"]\n", 20))
		one.Checked = new(store.Checked)
		if err := one.Checked.UnmarshalJSON([]byte(`{"value":[` + strings.Repeat(`{"field":"value"},`, 30) + `0]}`)); err != nil {
			b.Fatal(err)
		}
		all = append(all, one)
	}
	if err := j.Write(all, func() []store.Saved { return all }); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(j.size)
	j.Close()
	b.ReportAllocs()
	begin := cpuTime()
	for b.Loop() {
		j, content, err := Open(options)
		if err != nil || len(content.Saved) != objects {
			b.Fatal(err, len(content.Saved))
		}
		j.Close()
	}
	b.ReportMetric(float64((cpuTime()-begin).Milliseconds())/float64(b.N), "cpu-ms")
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
