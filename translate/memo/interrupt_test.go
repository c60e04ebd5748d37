package memo

import (
	"errors"
	"maps"
	"math/rand/v2"
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
		if mistake := recover(); mistake != nil {
			ended = mistake == any(errEnough) && f.panics && !e.Torn()
			if !ended {
				panic(mistake)
			}
		}
	}()
	err := e.Flush(f)
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

// A panic in what a fold does leaves half a change behind: the engine says so.
func TestAPanicOfAFoldTearsTheEngine(t *testing.T) {
	e := New()
	in := NewInput[int](e, "in", equal[int])
	fold := NewFold[int](e, "fold", func(int, []Member[int, int]) int { panic(errEnough) }, equal[int])
	From(fold, in, func(k, v int, yield func(Place[int, int], int)) { yield(Place[int, int]{0, k}, v) }, equal[int])
	in.Set(1, 1)
	func() {
		defer func() { _ = recover() }()
		_ = e.Flush(nil)
	}()
	if !e.Torn() {
		t.Error("not torn")
	}
}
