package memo

import (
	"hash/maphash"
	"reflect"
)

// cell is what a family keeps for one key.
type cell interface {
	// head is what all cells begin with.
	head() *node
	// collect drops the cell if nothing needs it.
	collect()
	// enqueue has the cell of a rule looked at by the next flush of its family. No other
	// cell reads, and is asked.
	enqueue()
	// of is its family.
	of() any
}

// cellOf is a cell whose key is a K.
type cellOf[K comparable] interface {
	cell
	// at is the row of its key.
	at() *row[K]
}

// keys are the keys of one type, of all families. Many families have cells for the same keys, and a
// key is long. So each key is stored once, in a row with its cells.
type keys[K comparable] struct {
	seed   maphash.Seed
	byHash map[uint64]*row[K]
	// odd are rows whose hash another one has.
	odd map[K]*row[K]
}

// row is a key, and its cells as a list: they are few.
type row[K comparable] struct {
	key   K
	first *node
}

func newKeys[K comparable]() *keys[K] {
	return &keys[K]{seed: maphash.MakeSeed(), byHash: map[uint64]*row[K]{}}
}

// keysOf returns the engine's keys of a type.
func keysOf[K comparable](e *Engine) *keys[K] {
	kind := reflect.TypeFor[K]()
	if e.keys[kind] == nil {
		e.keys[kind] = newKeys[K]()
	}
	return e.keys[kind].(*keys[K])
}

// row returns the row of a key, nil where there is none.
func (k *keys[K]) row(key K) *row[K] {
	r := k.byHash[maphash.Comparable(k.seed, key)]
	if r == nil || r.key != key {
		r = k.odd[key]
	}
	return r
}

// add returns the row of a key, a new one where there is none.
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

func (k *keys[K]) remove(r *row[K]) {
	hash := maphash.Comparable(k.seed, r.key)
	if k.byHash[hash] == r {
		delete(k.byHash, hash)
		return
	}
	delete(k.odd, r.key)
}

// each calls fn for every row, in no order.
func (k *keys[K]) each(fn func(*row[K])) {
	for _, r := range k.byHash {
		fn(r)
	}
	for _, r := range k.odd {
		fn(r)
	}
}

// table holds the cells of one family.
type table[K comparable, C cellOf[K]] struct {
	keys *keys[K]
	of   any // the family
	kept int
}

func newTable[K comparable, C cellOf[K]](e *Engine, of any) table[K, C] {
	return table[K, C]{keys: keysOf[K](e), of: of}
}

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

// each calls fn for every cell, in no order.
func (t *table[K, C]) each(fn func(C)) {
	t.keys.each(func(r *row[K]) {
		for n := r.first; n != nil; n = n.next {
			if c, ok := n.cell.(C); ok && c.of() == t.of {
				fn(c)
			}
		}
	})
}

// put adds a cell for a key that has none, with the row of that key.
func (t *table[K, C]) put(c C) {
	n, r := c.head(), c.at()
	n.cell, n.next = c, r.first
	r.first = n
	t.kept++
}

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
