package memo

import (
	"slices"
	"testing"
)

// TestGoneBeforeItWasSeen sets and deletes within one flush: nothing runs,
// nothing is told, nothing is kept.
func TestGoneBeforeItWasSeen(t *testing.T) {
	s := newSums()
	kept := s.cells()
	s.words.Set("a", "->b")
	s.words.Set("b", "yy")
	s.words.Delete("a")
	s.words.Delete("b")
	if got := s.flush(); len(got) > 0 {
		t.Errorf("ran %q", got)
	}
	if len(s.shown) > 0 || s.cells() != kept {
		t.Errorf("shown %v, cells %s, want none and %s", s.shown, s.cells(), kept)
	}
}

// TestGoneAndBack deletes a value and sets it again within one flush: its own
// readers look, and the wave ends there.
func TestGoneAndBack(t *testing.T) {
	s := newSums()
	s.words.Set("a", "xx")
	s.words.Set("b", "->c")
	s.words.Set("c", "yy")
	s.flush()
	s.words.Delete("c")
	s.words.Set("c", "yy")
	if got, want := s.flush(), []string{"resolve c"}; !slices.Equal(got, want) {
		t.Errorf("ran %q, want %q", got, want)
	}
}

// TestMembersTradePlaces moves the only member of one key to another and back
// the other way, within one flush.
func TestMembersTradePlaces(t *testing.T) {
	s := newSums()
	s.words.Set("a", "x")
	s.words.Set("b", "yyy")
	s.flush()
	s.words.Set("a", "xxx")
	s.words.Set("b", "y")
	s.flush()
	if s.shown[1] != "b=y" || s.shown[3] != "a=xxx" || len(s.shown) != 2 {
		t.Errorf("shown %v", s.shown)
	}
}

// TestAKeyThatIsWantedAgain lets the last reader of a value go, changes what the
// value is made of, and reads it again: it must be the present one.
func TestAKeyThatIsWantedAgain(t *testing.T) {
	s := newSums()
	s.words.Set("a", "->m")
	s.flush()
	if s.shown[8] != "a=missing!" {
		t.Fatalf("shown %v", s.shown)
	}
	s.words.Set("a", "x")
	s.flush()
	s.words.Set("m", "yy")
	s.words.Delete("m")
	s.words.Set("m", "yyy")
	s.words.Set("a", "->m")
	s.flush()
	if s.shown[4] != "a=yyy!" || s.shown[3] != "m=yyy" {
		t.Errorf("shown %v", s.shown)
	}
}

// TestReadersThatMeetHalfWay has one reader run before what it reads through
// another: it runs again, and sees the present in the end.
func TestReadersThatMeetHalfWay(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "d"}, {"d", "b", "a"}, {"b", "d", "a"}} {
		s := newSums()
		for _, key := range []string{"a", "b", "c"} {
			s.words.Set(key, "->"+string(key[0]+1))
		}
		s.words.Set("d", "y")
		s.flush()
		next := map[string]string{"a": "->c", "b": "->d", "d": "zz"}
		for _, key := range order {
			s.words.Set(key, next[key])
		}
		s.flush()
		if got := s.shown[4]; got != "a=zz!!" {
			t.Errorf("after edits in the order %v: %v", order, s.shown)
		}
	}
}

// TestWhatFollowsWaits has a rule whose keys come from a fold of its own values:
// one key leads to the next. What is declared behind runs once, in the end.
func TestWhatFollowsWaits(t *testing.T) {
	e := New()
	in := NewInput[int](e, "in", equal[int])
	grow := NewRule(e, "grow", func(c *Ctx, k int) int {
		limit, _ := in.Get(c, 0)
		return min(k+1, limit)
	}, equal[int])
	Each(grow, in)
	count := func(n int, members []Member[int, int]) int { return n + len(members) }
	next := NewFold[int](e, "fold", count, equal[int])
	From(next, grow, func(k, v int, yield func(Place[int, int], int)) { yield(Place[int, int]{v, k}, v) }, equal[int])
	EachOf(grow, next, func(k, _ int) []int { return []int{k} })
	all := NewFold[int](e, "fold", count, equal[int])
	From(all, grow, func(k, v int, yield func(Place[int, int], int)) { yield(Place[int, int]{0, k}, v) }, equal[int])
	var seen []int
	report := NewRule(e, "report", func(c *Ctx, k int) int {
		n, _ := all.Get(c, k)
		seen = append(seen, n)
		return n
	}, equal[int])
	Each(report, in)
	in.Set(0, 5)
	_ = e.Flush(nil)
	if !slices.Equal(seen, []int{6}) {
		t.Errorf("saw %v keys, want 6 at once", seen)
	}
}
