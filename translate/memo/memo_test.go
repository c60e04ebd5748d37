package memo

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/ordered"
)

// sums is a small network over all families: words, a rule that resolves a word
// through links, an index by first letter, and a fold that gathers the resolved
// words by length.
type sums struct {
	engine  *Engine
	words   *Input[string, string]
	resolve *Rule[string, string]
	letters *Rule[byte, string]
	byLen   *Fold[int, string, string, ordered.Set[string]]
	report  *Rule[int, string]
	out     *Sink[int, string]
	shown   map[int]string
	ran     []string
}

func newSums() *sums {
	s := &sums{engine: New(), shown: map[int]string{}}
	s.engine.Trace(func(rule string, key any) { s.ran = append(s.ran, fmt.Sprint(rule, " ", key)) }, nil)
	s.words = NewInput[string](s.engine, "in", equal[string])
	byLetter := NewIndex(s.engine, s.words, func(_, v string) []byte { return []byte(v[:1]) }, strings.Compare)
	s.resolve = NewRule(s.engine, "resolve", s.runResolve, equal[string])
	Each(s.resolve, s.words)
	s.letters = NewRule(s.engine, "letters", func(c *Ctx, b byte) string {
		return strings.Join(byLetter.Get(c, b), ",")
	}, equal[string])
	s.byLen = NewFold[int, string, string](s.engine, "fold", gather, ordered.Set[string].Same)
	From(s.byLen, s.resolve, func(key, value string, yield func(Place[int, string], string)) {
		yield(Place[int, string]{len(value), key}, key+"="+value)
	}, equal[string])
	s.report = NewRule(s.engine, "report", s.runReport, equal[string])
	Each(s.report, s.byLen)
	s.out = NewSink(s.report)
	return s
}

func equal[T comparable](a, b T) bool { return a == b }

// runResolve follows "->key" links up to three levels.
func (s *sums) runResolve(c *Ctx, key string) string {
	value, ok := s.words.Get(c, key)
	if !ok {
		return "missing"
	}
	if next, ok := strings.CutPrefix(value, "->"); ok && next > key {
		return s.resolve.Get(c, next) + "!"
	}
	return value
}

func (s *sums) runReport(c *Ctx, length int) string {
	set, _ := s.byLen.Get(c, length)
	out := strings.Join(slices.Collect(set.All()), " ")
	if set.Len() > 2 {
		out += " / " + s.letters.Get(c, byte('a'+length%3))
	}
	return out
}

func gather(set ordered.Set[string], members []Member[string, string]) ordered.Set[string] {
	if set.Len() == 0 {
		set = ordered.New(strings.Compare)
	}
	for _, m := range members {
		if m.Had {
			set = set.Delete(m.Old)
		}
		if m.Has {
			set = set.Insert(m.New)
		}
	}
	return set
}

// flush returns the rules that ran, sorted, each once.
func (s *sums) flush() []string {
	s.ran = nil
	_ = s.engine.Flush(nil)
	for key, change := range s.out.Drain() {
		if change.Has {
			s.shown[key] = change.New
		} else {
			delete(s.shown, key)
		}
	}
	slices.Sort(s.ran)
	return slices.Compact(s.ran)
}

// TestIncrementalEqualsCold edits at random and compares with a fresh engine.
func TestIncrementalEqualsCold(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		warm, present := newSums(), map[string]string{}
		for step := range 60 {
			for range 1 + r.IntN(4) {
				edit(r, warm, present)
			}
			warm.flush()
			cold := newSums()
			for k, v := range present {
				cold.words.Set(k, v)
			}
			cold.flush()
			if !maps.Equal(warm.shown, cold.shown) {
				t.Fatalf("seed %d step %d: %v, cold %v", seed, step, warm.shown, cold.shown)
			}
			if w, c := warm.cells(), cold.cells(); w != c {
				t.Fatalf("seed %d step %d: warm keeps %s, cold %s", seed, step, w, c)
			}
		}
	}
}

// cells counts what lives, so that leaks show.
func (s *sums) cells() string {
	return fmt.Sprint(s.words.cells.len(), s.resolve.cells.len(), s.letters.cells.len(), s.byLen.cells.len(), s.report.cells.len())
}

func edit(r *rand.Rand, s *sums, present map[string]string) {
	key := string(rune('a' + r.IntN(12)))
	switch r.IntN(4) {
	case 0:
		s.words.Delete(key)
		delete(present, key)
	case 1:
		present[key] = "->" + string(rune('a'+r.IntN(14)))
		s.words.Set(key, present[key])
	default:
		present[key] = strings.Repeat(string(rune('a'+r.IntN(3))), 1+r.IntN(4))
		s.words.Set(key, present[key])
	}
}

func TestOnlyReadersOfAChangeRun(t *testing.T) {
	s := newSums()
	s.words.Set("a", "->c")
	s.words.Set("b", "xx")
	if got, want := s.flush(), []string{"report 2", "report 7", "report 8", "resolve a", "resolve b", "resolve c"}; !slices.Equal(got, want) {
		t.Fatalf("first flush ran %q, want %q", got, want)
	}
	if s.shown[8] != "a=missing!" {
		t.Fatalf("an absent value was not read as absent: %v", s.shown)
	}
	s.words.Set("c", "y")
	if got, want := s.flush(), []string{"report 1", "report 2", "resolve a", "resolve c"}; !slices.Equal(got, want) {
		t.Fatalf("a value that came ran %q, want %q", got, want)
	}
	s.words.Set("b", "xx")
	if got := s.flush(); len(got) != 0 {
		t.Fatalf("an equal value ran %q", got)
	}
}

func TestSelfReadPanics(t *testing.T) {
	e := New()
	in := NewInput[int](e, "in", equal[int])
	var r *Rule[int, int]
	r = NewRule(e, "loop", func(c *Ctx, k int) int { return r.Get(c, k) }, equal[int])
	Each(r, in)
	in.Set(1, 1)
	p := new(Panic)
	if err := e.Flush(nil); !errors.As(err, &p) || p.Value != "memo: loop 1 reads itself" {
		t.Fatalf("a rule that reads itself: %v", err)
	}
}
