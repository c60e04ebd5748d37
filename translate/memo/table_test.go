package memo

import (
	"hash/maphash"
	"testing"
)

type named string

func (n *named) at() string { return string(*n) }

// TestTableOfOneHash lets two keys have one hash, which no test could wait for.
func TestTableOfOneHash(t *testing.T) {
	table := newTable[string, *named]()
	first, second := named("first"), named("second")
	table.byHash[maphash.Comparable(table.seed, "second")] = &first
	if cell, ok := table.get("second"); ok {
		t.Fatalf("found %v under a hash that it shares", *cell)
	}
	table.put(&second)
	if cell, ok := table.get("second"); !ok || cell != &second || table.len() != 2 {
		t.Fatalf("found %v, %v among %d cells", cell, ok, table.len())
	}
	table.remove("second")
	if _, ok := table.get("second"); ok || table.len() != 1 {
		t.Fatalf("it is found still, or took the other with it: %d cells", table.len())
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
