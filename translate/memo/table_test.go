package memo

import (
	"hash/maphash"
	"testing"
)

// TestKeysOfOneHash lets two keys have one hash, which no test could wait for.
func TestKeysOfOneHash(t *testing.T) {
	e := New()
	in, other := NewInput[string](e, "in", equal[int]), NewInput[string](e, "in", equal[int])
	other.Set("first", 1)
	keys := keysOf[string](e)
	keys.byHash[maphash.Comparable(keys.seed, "second")] = keys.row("first")
	if cell, ok := in.cells.get("second"); ok {
		t.Fatalf("found %v under a hash that it shares", cell)
	}
	in.Set("second", 2)
	other.Set("second", 3)
	if cell, ok := in.cells.get("second"); !ok || cell.value != 2 || keys.len() != 3 {
		t.Fatalf("found %v, %v among %d rows", cell, ok, keys.len())
	}
	in.Delete("second")
	if _, ok := in.cells.get("second"); ok {
		t.Fatal("it is found still")
	}
	if cell, ok := other.cells.get("second"); !ok || cell.value != 3 {
		t.Fatalf("it took that of another family with it: %v, %v", cell, ok)
	}
	delete(keys.byHash, maphash.Comparable(keys.seed, "second")) // the other key went
	in.Set("second", 4)
	if cell, ok := other.cells.get("second"); !ok || cell.value != 3 {
		t.Fatalf("a second row hides that of another family: %v, %v", cell, ok)
	}
	other.Delete("second")
	in.Delete("second")
	if keys.row("second") != nil || keys.row("first") == nil {
		t.Fatal("the row stays, or that of the other key went")
	}
}

// TestARowGoesWithItsLastCell has an input and a rule of one key: the key stays as long as
// one of them.
func TestARowGoesWithItsLastCell(t *testing.T) {
	s := newSums()
	rows := func() int { return keysOf[string](s.engine).len() }
	s.words.Set("a", "->b")
	s.flush()
	if got := rows(); got != 2 {
		t.Errorf("%d rows of a word and the absent one that it names", got)
	}
	s.words.Delete("a")
	s.flush()
	if got := rows(); got != 0 {
		t.Errorf("%d rows are left", got)
	}
}

// TestSet passes from the list to the map and back.
func TestSet(t *testing.T) {
	var s set[int]
	for i := range 3 * fewKeys {
		s.add(i)
		s.add(i)
		if s.len() != i+1 {
			t.Fatalf("%d keys after %d", s.len(), i+1)
		}
	}
	for i := range 3 * fewKeys {
		s.remove(i)
		for left := range s.all() {
			if left <= i {
				t.Fatalf("%d is there still", left)
			}
		}
	}
	if s.len() != 0 {
		t.Fatalf("%d keys are left", s.len())
	}
}

func (k *keys[K]) len() int { return len(k.byHash) + len(k.odd) }

func (t *table[K, C]) len() int { return t.kept }
