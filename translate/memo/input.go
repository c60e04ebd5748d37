package memo

import "slices"

// Input has values by key that are set from outside the engine.
type Input[K comparable, V any] struct {
	engine *Engine
	equal  func(a, b V) bool
	cells  table[K, *inputCell[K, V]]
	subscribers[K, V]
}

// inputCell is the value of an Input for one key.
type inputCell[K comparable, V any] struct {
	node
	input   *Input[K, V]
	row     *row[K] // nil after the cell was removed
	value   V
	present bool
}

// at returns the row of the cell's key, nil after the cell was removed. It implements cellOf.
func (c *inputCell[K, V]) at() *row[K] { return c.row }

// of returns the Input that the cell belongs to. It implements cell.
func (c *inputCell[K, V]) of() any { return c.input }

// collect removes the cell if it has no value and no readers.
func (c *inputCell[K, V]) collect() {
	if c.row != nil && !c.present && c.unread() {
		c.input.cells.remove(c)
		c.row = nil
	}
}

// NewInput declares an input. equal reports whether two values are equal.
func NewInput[K comparable, V any](e *Engine, name string, equal func(a, b V) bool) *Input[K, V] {
	in := &Input[K, V]{engine: e, equal: equal}
	in.name = name
	in.cells = newTable[K, *inputCell[K, V]](e, in)
	return in
}

// Set sets the value of key. If value equals the present one, nothing runs.
func (in *Input[K, V]) Set(key K, value V) {
	cell := in.cell(key)
	if cell.present && in.equal(cell.value, value) {
		return
	}
	change := Change[V]{Old: cell.value, Had: cell.present, New: value, Has: true}
	cell.value, cell.present = value, true
	cell.changed()
	in.notify(key, change)
}

// Delete removes the value of key. It does nothing if there is none.
func (in *Input[K, V]) Delete(key K) {
	cell, ok := in.cells.get(key)
	if !ok || !cell.present {
		return
	}
	change := Change[V]{Old: cell.value, Had: true}
	cell.value, cell.present = change.New, false
	cell.changed()
	in.notify(key, change)
	cell.collect()
}

// Get returns the value of key. If the key has no value, ok is false. In both cases the read is recorded, so
// that the rule runs again when the value changes.
func (in *Input[K, V]) Get(c *Ctx, key K) (value V, ok bool) {
	c.Pause()
	cell := in.cell(key)
	c.record(&cell.node)
	return cell.value, cell.present
}

// Peek returns the value of key without recording a read. ok is false if there is none. Only the owner of the
// engine calls it; a rule calls Get.
func (in *Input[K, V]) Peek(key K) (value V, ok bool) {
	if cell, there := in.cells.get(key); there {
		return cell.value, cell.present
	}
	return value, false
}

// has reports whether key has a value. It records no read.
func (in *Input[K, V]) has(key K) bool {
	cell, ok := in.cells.get(key)
	return ok && cell.present
}

// cell returns the cell of key, and creates it if necessary.
func (in *Input[K, V]) cell(key K) *inputCell[K, V] {
	cell, ok := in.cells.get(key)
	if !ok {
		cell = &inputCell[K, V]{input: in, row: in.cells.keys.add(key)}
		in.cells.put(cell)
	}
	return cell
}

// Index lists keys by properties of the keys and their values. A rule that reads a list runs again whenever a key
// is added to or removed from that list. So use an Index only for lists that are always short, and a Fold for
// others.
type Index[X comparable, K comparable] struct {
	label   // its name is "", so that an Index is known by the names of its sources
	compare func(a, b K) int
	buckets table[X, *bucket[X, K]]
}

// bucket is the list of the keys that have one property.
type bucket[X, K comparable] struct {
	node
	index *Index[X, K]
	row   *row[X] // nil after the bucket was removed
	keys  set[K]
}

// at implements cellOf. A bucket is a cell, and the key of the cell is the property of the bucket. at returns the row
// for this key. It returns nil after the bucket was removed.
func (b *bucket[X, K]) at() *row[X] { return b.row }

// of returns the Index that the bucket belongs to. It implements cell.
func (b *bucket[X, K]) of() any { return b.index }

// collect removes the bucket if it has no keys and no readers.
func (b *bucket[X, K]) collect() {
	if b.row != nil && b.keys.len() == 0 && b.unread() {
		b.index.buckets.remove(b)
		b.row = nil
	}
}

// NewIndex declares an index of the keys of the parameter source, which is an Input or a Rule, for example. The
// function properties returns the properties under which a key is listed, without duplicates. The function compare is
// the order of the keys in a list.
func NewIndex[X, K comparable, V any](e *Engine, source Keyed[K, V], properties func(K, V) []X, compare func(a, b K) int) *Index[X, K] {
	x := &Index[X, K]{compare: compare}
	x.buckets = newTable[X, *bucket[X, K]](e, x)
	source.subscribe(&x.label, func(key K, change Change[V]) {
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

// move updates the lists of an index after the value of key changed. The parameters before and after are the
// properties of the old and of the new value. If both values have a property, its list does not change.
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

// Get returns the keys that are listed under a property, sorted. It returns nil if there are none.
func (x *Index[X, K]) Get(c *Ctx, at X) []K {
	c.Pause()
	b := x.bucket(at)
	c.record(&b.node)
	return slices.SortedFunc(b.keys.all(), x.compare)
}

// bucket returns the bucket of a property, and creates it if necessary.
func (x *Index[X, K]) bucket(at X) *bucket[X, K] {
	b, ok := x.buckets.get(at)
	if !ok {
		b = &bucket[X, K]{index: x, row: x.buckets.keys.add(at)}
		x.buckets.put(b)
	}
	return b
}
