package memo

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

var errEnough = errors.New("enough")

// fuse is a Stop that ends a Flush after a number of checks, by an error or, as a mistake
// in a rule would, by a panic.
type fuse struct {
	checks int
	panics bool
}

func (f *fuse) Err() error {
	if f.checks--; f.checks >= 0 {
		return nil
	}
	if f.panics {
		panic(errEnough)
	}
	return errEnough
}

// flushUntil flushes until the fuse ends it, false when there is nothing left before that.
func flushUntil(t *testing.T, e *Engine, f *fuse) (ended bool) {
	t.Helper()
	defer func() {
		if mistake := recover(); mistake != nil { // the fuse panicked between two families
			if ended = mistake == any(errEnough) && f.panics; !ended {
				panic(mistake)
			}
		}
	}()
	err := e.Flush(f)
	if p := new(Panic); errors.As(err, &p) && f.panics && p.Value == any(errEnough) {
		return true
	}
	if err != nil && !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	return err != nil
}

// TestInterruptedEqualsCold interrupts flushes at random points, edits meanwhile, and
// compares with a fresh engine when one comes to its end.
func TestInterruptedEqualsCold(t *testing.T) {
	interrupted := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		warm, present := newSums(), map[string]string{}
		for step := range 60 {
			for range r.IntN(4) {
				for range 1 + r.IntN(4) {
					edit(r, warm, present)
				}
				if flushUntil(t, warm.engine, &fuse{r.IntN(40), r.IntN(3) == 0}) {
					interrupted++
				}
			}
			warm.flush()
			cold := newSums()
			for k, v := range present {
				cold.words.Set(k, v)
			}
			cold.flush()
			if !maps.Equal(warm.shown, cold.shown) {
				t.Fatalf("seed %d step %d: %v, want %v", seed, step, warm.shown, cold.shown)
			}
			if got, want := warm.cells(), cold.cells(); got != want {
				t.Fatalf("seed %d step %d: cells %s, cold %s", seed, step, got, want)
			}
		}
	}
	if interrupted < 1000 {
		t.Fatalf("only %d flushes were interrupted: this proves little", interrupted)
	}
}

// TestInterruptedReadersAreThoseOfTheLastRuns interrupts rules in the middle of their reads.
func TestInterruptedReadersAreThoseOfTheLastRuns(t *testing.T) {
	for seed := range uint64(10) {
		r, warm := rand.New(rand.NewPCG(seed, 9)), newPages()
		lists, numbers := map[string][]int{}, map[int]int{}
		for step := range 100 {
			for range 1 + r.IntN(3) {
				warm.edit(r, lists, numbers)
			}
			flushUntil(t, warm.engine, &fuse{r.IntN(2 * manyReads), step%2 == 0})
			warm.edit(r, lists, numbers)
			if err := warm.engine.Flush(nil); err != nil {
				t.Fatal(err)
			}
			cold := newPages()
			for n, value := range numbers {
				cold.numbers.Set(n, value)
			}
			for key, list := range lists {
				cold.lists.Set(key, list)
			}
			_ = cold.engine.Flush(nil)
			for key := range lists {
				if warm.shown[key] != cold.shown[key] {
					t.Fatalf("seed %d step %d: %s sums up to %d, cold to %d", seed, step, key, warm.shown[key], cold.shown[key])
				}
			}
			readers, reads := warm.readers()
			if fresh, _ := cold.readers(); !maps.Equal(readers, reads) || len(fresh) != len(readers) {
				t.Fatalf("seed %d step %d: %d readers are known of %d reads, cold %d", seed, step, len(readers), len(reads), len(fresh))
			}
		}
	}
}

// A panic of a rule or fold names it and its keys, and the next Flush goes on.
func TestAPanicIsNamed(t *testing.T) {
	for _, where := range []string{"double 3", "total 3", "sum 0"} {
		e, broken := New(), true
		fail := func(what string, key any) {
			if fmt.Sprint(what, " ", key) == where && broken {
				panic(errEnough)
			}
		}
		e.Trace(fail, fail)
		in := NewInput[int](e, "in", equal[int])
		double := NewRule(e, "double", func(c *Ctx, key int) int { v, _ := in.Get(c, key); return 2 * v }, equal[int])
		total := NewRule(e, "total", func(c *Ctx, key int) int { return double.Get(c, key) + double.Get(c, key+1) }, equal[int])
		Each(total, in)
		sum := NewFold[int](e, "sum", func(v int, members []Member[int, int]) int {
			for _, m := range members {
				v += m.New - m.Old
			}
			return v
		}, equal[int])
		From(sum, total, func(k, v int, yield func(Place[int, int], int)) { yield(Place[int, int]{0, k}, v) }, equal[int])
		in.Set(3, 1)
		p := new(Panic)
		if err := e.Flush(nil); !errors.As(err, &p) || p.Value != any(errEnough) || !strings.Contains(string(p.Stack), "interrupt_test.go") {
			t.Fatalf("%s: %v", where, err)
		}
		if want := map[string]string{"double 3": "double [3 3]", "total 3": "total [3]", "sum 0": "sum [0]"}[where]; fmt.Sprint(p.Family, " ", p.Keys) != want || (p.Members != nil) != (p.Family == "sum") {
			t.Errorf("%s is named %s %v, members %v", where, p.Family, p.Keys, p.Members)
		}
		broken = false
		in.Set(3, 2)
		if err := e.Flush(nil); err != nil {
			t.Fatal(err)
		}
		if v := sum.cell(0).value; v != 4 {
			t.Errorf("%s: the sum is %d, want 4", where, v)
		}
	}
}
