package memo

import (
	"hash/maphash"
	"reflect"
)

// cell holds the value of one key of a family, and what the engine knows about it, such as its readers.
type cell interface {
	// head returns the node that every cell begins with.
	head() *node
	// collect removes the cell if nothing needs it.
	collect()
	// enqueue queues the cell for the next flush of its family. Only the cells of rules are queued. For any other
	// cell, enqueue does nothing, because such a cell does not read other cells.
	enqueue()
	// of() returns the family that the cell belongs to.
	of() any
}

// cellOf is a cell whose key has the type K.
type cellOf[K comparable] interface {
	cell
	// at() returns the row that holds the cell's key. It returns nil after the cell was removed.
	at() *row[K]
}

// keys are all keys of one type. The families of the engine share them: many families have cells for the same
// key, and a key is long. So each key is stored once, in a row together with its cells.
type keys[K comparable] struct {
	seed   maphash.Seed
	byHash map[uint64]*row[K]
	// odd are the rows that are not in byHash, because another key with the same hash was there when they were
	// added.
	odd map[K]*row[K]
}

// row is one key, with a linked list of the cells for this key. Each cell of the list belongs to a different
// family (an Input, Rule or Fold). The list is short.
type row[K comparable] struct {
	key   K
	first *node
}

// newKeys returns keys without rows.
func newKeys[K comparable]() *keys[K] {
	return &keys[K]{seed: maphash.MakeSeed(), byHash: map[uint64]*row[K]{}}
}

// keysOf returns the engine's keys of the type K.
func keysOf[K comparable](e *Engine) *keys[K] {
	kind := reflect.TypeFor[K]()
	if e.keys[kind] == nil {
		e.keys[kind] = newKeys[K]()
	}
	return e.keys[kind].(*keys[K])
}

// row returns the row of a key, or nil if there is none.
func (k *keys[K]) row(key K) *row[K] {
	r := k.byHash[maphash.Comparable(k.seed, key)]
	if r == nil || r.key != key {
		r = k.odd[key]
	}
	return r
}

// add returns the row of a key. It adds a new row if there is none.
func (k *keys[K]) add(key K) *row[K] {
	if r := k.row(key); r != nil {
		return r
	}
	r, hash := &row[K]{key: key}, maphash.Comparable(k.seed, key)
	switch _, taken := k.byHash[hash]; {
	case !taken:
		k.byHash[hash] = r
	case k.odd == nil:
		k.odd = map[K]*row[K]{key: r}
	default:
		k.odd[key] = r
	}
	return r
}

// remove removes the row r.
func (k *keys[K]) remove(r *row[K]) {
	hash := maphash.Comparable(k.seed, r.key)
	if k.byHash[hash] == r {
		delete(k.byHash, hash)
		return
	}
	delete(k.odd, r.key)
}

// each calls fn for every row, in no particular order.
func (k *keys[K]) each(fn func(*row[K])) {
	for _, r := range k.byHash {
		fn(r)
	}
	for _, r := range k.odd {
		fn(r)
	}
}

// table finds the cells of one family (an Input, Rule or Fold) by their keys.
type table[K comparable, C cellOf[K]] struct {
	// keys has one row for each key. All families with keys of the type K share the rows: a row has the cells of all
	// families for the key, at most one cell of each family.
	keys *keys[K]
	of   any // the family
	kept int // the number of cells of the family
}

// newTable returns an empty table for the cells of one family.
func newTable[K comparable, C cellOf[K]](e *Engine, of any) table[K, C] {
	return table[K, C]{keys: keysOf[K](e), of: of}
}

// get returns the cell of the family for key. ok is false if there is none.
func (t *table[K, C]) get(key K) (found C, ok bool) {
	if r := t.keys.row(key); r != nil {
		for n := r.first; n != nil; n = n.next {
			if found, ok = n.cell.(C); ok && found.of() == t.of {
				return found, true
			}
		}
	}
	var none C
	return none, false
}

// each calls fn for every cell of the family, in no particular order.
func (t *table[K, C]) each(fn func(C)) {
	t.keys.each(func(r *row[K]) {
		for n := r.first; n != nil; n = n.next {
			if c, ok := n.cell.(C); ok && c.of() == t.of {
				fn(c)
			}
		}
	})
}

// put adds the cell c to the row of its key. A row has at most one cell of each family, so the row must not have a
// cell of the table's family yet.
func (t *table[K, C]) put(c C) {
	n, r := c.head(), c.at()
	n.cell, n.next = c, r.first
	r.first = n
	t.kept++
}

// remove removes the cell c, and the row of its key if no other cell has the key.
func (t *table[K, C]) remove(c C) {
	r := c.at()
	at := &r.first
	for *at != c.head() {
		at = &(*at).next
	}
	*at = c.head().next
	t.kept--
	if r.first == nil {
		t.keys.remove(r)
	}
}
