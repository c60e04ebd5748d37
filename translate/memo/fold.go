package memo

import "slices"

// Fold computes one value per key from members that are added and removed one by one. It has a
// value for exactly the keys that have members.
type Fold[K, ID comparable, M, V any] struct {
	engine *Engine
	step   func(V, []Member[ID, M]) V
	equal  func(a, b V) bool
	cells  table[K, *foldCell[K, ID, M, V]]
	queue  []pending[K, ID, M, V]
	subscribers[K, V]
}

// pending are changes of the members of one cell that wait in the queue of the Fold. The function step has not
// received them yet.
type pending[K, ID comparable, M, V any] struct {
	cell    *foldCell[K, ID, M, V]
	members []Member[ID, M]
}

// Member is a change of one member of a Fold. ID identifies the member.
type Member[ID comparable, M any] struct {
	ID ID
	Change[M]
}

// foldCell is the value of a Fold for one key.
type foldCell[K, ID comparable, M, V any] struct {
	node
	fold    *Fold[K, ID, M, V]
	row     *row[K] // nil after the cell was removed
	value   V
	members int32
	queued  int32 // 1 + the index in the queue, 0 if it is not there
	present bool
}

// at returns the row of the cell's key, nil after the cell was removed. It implements cellOf.
func (c *foldCell[K, ID, M, V]) at() *row[K] { return c.row }

// of returns the Fold that the cell belongs to. It implements cell.
func (c *foldCell[K, ID, M, V]) of() any { return c.fold }

// collect removes the cell if it has no members and no readers.
func (c *foldCell[K, ID, M, V]) collect() {
	if c.row != nil && c.members == 0 && c.queued == 0 && !c.present && c.unread() {
		c.fold.cells.remove(c)
		c.row = nil
	}
}

// NewFold declares a fold. The function step gets the present value of a key (the zero V at first) and the members
// that changed, and returns the new value. It must not modify the present value. After any sequence of changes, the
// value must depend only on the members that the key then has, and not on the order of the changes. The function
// equal reports whether two values are equal.
func NewFold[K, ID comparable, M, V any](e *Engine, name string, step func(V, []Member[ID, M]) V, equal func(a, b V) bool) *Fold[K, ID, M, V] {
	f := &Fold[K, ID, M, V]{engine: e, step: step, equal: equal}
	f.name = name
	f.cells = newTable[K, *foldCell[K, ID, M, V]](e, f)
	e.add(f)
	return f
}

// Place says to which value of a Fold a member belongs.
type Place[K, ID comparable] struct {
	Key K  // the key of the value
	ID  ID // identifies the member among the members of this value
}

// From makes the fold f take its members from the values of the parameter source. The function emit gets a key and
// the value of this key in the source, and calls yield for each member that the value has, at most once for each
// Place. Members of different sources, or of different keys of a source, must have different Places. The function
// equal compares the old and the new version of a member: if they are equal, the member counts as unchanged.
func From[S, K, ID comparable, X, M, V any](f *Fold[K, ID, M, V], source Keyed[S, X],
	emit func(key S, value X, yield func(Place[K, ID], M)), equal func(a, b M) bool,
) {
	source.subscribe(&f.label, func(key S, change Change[X]) {
		before := map[Place[K, ID]]M{}
		if change.Had {
			emit(key, change.Old, func(at Place[K, ID], m M) { before[at] = m })
		}
		if change.Has {
			emit(key, change.New, func(at Place[K, ID], m M) {
				old, had := before[at]
				delete(before, at)
				if !had || !equal(old, m) {
					f.put(at, Change[M]{Old: old, Had: had, New: m, Has: true})
				}
			})
		}
		for at, old := range before {
			f.put(at, Change[M]{Old: old, Had: true})
		}
	})
}

// put queues the change of one member. The next flush passes the change to the function step, unless the key has no
// members by then.
func (f *Fold[K, ID, M, V]) put(at Place[K, ID], change Change[M]) {
	cell := f.cell(at.Key)
	if cell.queued == 0 {
		f.queue = append(f.queue, pending[K, ID, M, V]{cell: cell})
		cell.queued = int32(len(f.queue))
	}
	of := &f.queue[cell.queued-1]
	of.members = append(of.members, Member[ID, M]{ID: at.ID, Change: change})
	switch {
	case !change.Had:
		cell.members++
	case !change.Has:
		cell.members--
	}
}

// Get returns the value of key. If the key has no members, ok is false. In both cases the read is recorded, so
// that the rule runs again when the value changes.
func (f *Fold[K, ID, M, V]) Get(c *Ctx, key K) (value V, ok bool) {
	c.Pause()
	cell := f.cell(key)
	c.record(&cell.node)
	return cell.value, cell.present
}

// has reports whether key has a value. It records no read.
func (f *Fold[K, ID, M, V]) has(key K) bool {
	cell, ok := f.cells.get(key)
	return ok && cell.present
}

// cell returns the cell of key, and creates it if necessary.
func (f *Fold[K, ID, M, V]) cell(key K) *foldCell[K, ID, M, V] {
	cell, ok := f.cells.get(key)
	if !ok {
		cell = &foldCell[K, ID, M, V]{fold: f, row: f.cells.keys.add(key)}
		f.cells.put(cell)
	}
	return cell
}

// flush implements family.
func (f *Fold[K, ID, M, V]) flush() bool {
	done := 0
	defer func() { f.shorten(done) }()
	for ; done < len(f.queue); done++ {
		f.engine.check()
		due := f.queue[done]
		change, changed := f.next(due)
		due.cell.queued = 0
		f.settle(due.cell, change, changed)
	}
	return done > 0
}

// next computes the value of a cell after its members changed. If the function step panics, next panics with a *Panic, and
// the members stay in the queue.
func (f *Fold[K, ID, M, V]) next(due pending[K, ID, M, V]) (change Change[V], changed bool) {
	ended, cell := false, due.cell
	defer func() {
		if ended {
			return
		}
		p := panicked(recover(), f.name, cell.row.key)
		for _, m := range due.members {
			p.Members = append(p.Members, m.ID)
		}
		panic(p)
	}()
	change = Change[V]{Old: cell.value, Had: cell.present, Has: cell.members > 0}
	if change.Has {
		change.New = f.step(cell.value, due.members)
	}
	changed = change.Had != change.Has || change.Has && !f.equal(change.Old, change.New)
	if f.engine.step != nil {
		f.engine.step(f.name, cell.row.key)
	}
	ended = true
	return change, changed
}

// shorten removes elements from the beginning of the queue; the parameter done is their number. If the flush was
// interrupted, the other elements remain.
func (f *Fold[K, ID, M, V]) shorten(done int) {
	f.queue = slices.Clone(f.queue[done:])
	for i := range f.queue {
		f.queue[i].cell.queued = int32(i + 1)
	}
}

// settle stores the value of a cell. If it changed, readers and subscribers are notified.
func (f *Fold[K, ID, M, V]) settle(cell *foldCell[K, ID, M, V], change Change[V], changed bool) {
	if changed {
		cell.value, cell.present = change.New, change.Has
		cell.changed()
		f.notify(cell.row.key, change)
	}
	cell.collect()
}
