package memo

import "hash/maphash"

// keyed is a cell that knows its key.
type keyed[K comparable] interface {
	comparable
	at() K
}

// table holds cells by key. A key is long, and its cell has it already: the table has its
// hash alone.
type table[K comparable, C keyed[K]] struct {
	seed   maphash.Seed
	byHash map[uint64]C
	// odd are cells whose hash another one has.
	odd map[K]C
}

func newTable[K comparable, C keyed[K]]() table[K, C] {
	return table[K, C]{seed: maphash.MakeSeed(), byHash: map[uint64]C{}}
}

func (t *table[K, C]) get(key K) (cell C, ok bool) {
	cell, ok = t.byHash[maphash.Comparable(t.seed, key)]
	if !ok || cell.at() != key {
		cell, ok = t.odd[key]
	}
	return cell, ok
}

// put adds a cell whose key is not there.
func (t *table[K, C]) put(cell C) {
	hash := maphash.Comparable(t.seed, cell.at())
	if _, taken := t.byHash[hash]; !taken {
		t.byHash[hash] = cell
		return
	}
	if t.odd == nil {
		t.odd = map[K]C{}
	}
	t.odd[cell.at()] = cell
}

func (t *table[K, C]) remove(key K) {
	hash := maphash.Comparable(t.seed, key)
	if cell, ok := t.byHash[hash]; ok && cell.at() == key {
		delete(t.byHash, hash)
		return
	}
	delete(t.odd, key)
}

func (t *table[K, C]) len() int { return len(t.byHash) + len(t.odd) }
