package memo

import "slices"

// Input holds values by key, set from outside.
type Input[K comparable, V any] struct {
	engine *Engine
	equal  func(a, b V) bool
	cells  table[K, *inputCell[K, V]]
	subscribers[K, V]
}

type inputCell[K comparable, V any] struct {
	source
	input   *Input[K, V]
	key     K
	value   V
	present bool
}

func (c *inputCell[K, V]) base() *source { return &c.source }

func (c *inputCell[K, V]) at() K { return c.key }

func (c *inputCell[K, V]) collect() {
	if !c.present && c.unread() {
		c.input.cells.remove(c.key)
	}
}

// NewInput declares an input whose values are compared by equal.
func NewInput[K comparable, V any](e *Engine, equal func(a, b V) bool) *Input[K, V] {
	return &Input[K, V]{engine: e, equal: equal, cells: newTable[K, *inputCell[K, V]]()}
}

// Set gives key a value. Nothing follows when it is equal to the present one.
func (in *Input[K, V]) Set(key K, value V) {
	cell := in.cell(key)
	if cell.present && in.equal(cell.value, value) {
		return
	}
	change := Change[V]{Old: cell.value, Had: cell.present, New: value, Has: true}
	cell.value, cell.present = value, true
	cell.changed()
	in.tell(key, change)
}

// Delete takes key away.
func (in *Input[K, V]) Delete(key K) {
	cell, ok := in.cells.get(key)
	if !ok || !cell.present {
		return
	}
	change := Change[V]{Old: cell.value, Had: true}
	cell.value, cell.present = change.New, false
	cell.changed()
	in.tell(key, change)
	cell.collect()
}

// Get reads the value of key; ok is false when there is none, which is
// recorded as well.
func (in *Input[K, V]) Get(c *Ctx, key K) (value V, ok bool) {
	cell := in.cell(key)
	c.record(cell)
	return cell.value, cell.present
}

func (in *Input[K, V]) cell(key K) *inputCell[K, V] {
	cell, ok := in.cells.get(key)
	if !ok {
		cell = &inputCell[K, V]{input: in, key: key}
		in.cells.put(cell)
	}
	return cell
}

// Index lists the keys of an Input by properties of their values. Use it where
// a list is short by nature; unbounded fan-in wants a Fold.
type Index[X comparable, K comparable] struct {
	engine  *Engine
	compare func(a, b K) int
	buckets table[X, *bucket[X, K]]
}

type bucket[X, K comparable] struct {
	source
	index *Index[X, K]
	key   X
	keys  set[K]
}

func (b *bucket[X, K]) base() *source { return &b.source }

func (b *bucket[X, K]) at() X { return b.key }

func (b *bucket[X, K]) collect() {
	if b.keys.len() == 0 && b.unread() {
		b.index.buckets.remove(b.key)
	}
}

// NewIndex declares an index over of: properties gives the places at which a
// key is listed, without repetition. Lists are sorted by compare.
func NewIndex[X, K comparable, V any](e *Engine, of Keyed[K, V], properties func(K, V) []X, compare func(a, b K) int) *Index[X, K] {
	x := &Index[X, K]{engine: e, compare: compare, buckets: newTable[X, *bucket[X, K]]()}
	of.subscribe(func(key K, change Change[V]) {
		var before, after []X
		if change.Had {
			before = properties(key, change.Old)
		}
		if change.Has {
			after = properties(key, change.New)
		}
		x.move(key, before, after)
	})
	return x
}

func (x *Index[X, K]) move(key K, before, after []X) {
	for _, at := range before {
		if !slices.Contains(after, at) {
			b := x.bucket(at)
			b.keys.remove(key)
			b.changed()
			b.collect()
		}
	}
	for _, at := range after {
		if !slices.Contains(before, at) {
			b := x.bucket(at)
			b.keys.add(key)
			b.changed()
		}
	}
}

// Get reads the keys listed at a property, sorted.
func (x *Index[X, K]) Get(c *Ctx, at X) []K {
	b := x.bucket(at)
	c.record(b)
	return slices.SortedFunc(b.keys.all(), x.compare)
}

func (x *Index[X, K]) bucket(at X) *bucket[X, K] {
	b, ok := x.buckets.get(at)
	if !ok {
		b = &bucket[X, K]{index: x, key: at}
		x.buckets.put(b)
	}
	return b
}
