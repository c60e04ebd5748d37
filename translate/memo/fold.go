package memo

// Fold computes one value per key from members that come and go one by one. It
// has a value for exactly the keys that have members.
type Fold[K, ID comparable, M, V any] struct {
	engine *Engine
	step   func(V, []Member[ID, M]) V
	equal  func(a, b V) bool
	cells  table[K, *foldCell[K, ID, M, V]]
	queue  []*foldCell[K, ID, M, V]
	subscribers[K, V]
}

// Member is a member that came, changed or went.
type Member[ID comparable, M any] struct {
	ID ID
	Change[M]
}

type foldCell[K, ID comparable, M, V any] struct {
	source
	fold    *Fold[K, ID, M, V]
	key     K
	members int
	pending []Member[ID, M]
	value   V
	present bool
}

func (c *foldCell[K, ID, M, V]) base() *source { return &c.source }

func (c *foldCell[K, ID, M, V]) at() K { return c.key }

func (c *foldCell[K, ID, M, V]) collect() {
	if c.members == 0 && len(c.pending) == 0 && !c.present && c.unread() {
		c.fold.cells.remove(c.key)
	}
}

// NewFold declares a fold. step gets the value so far (the zero V at first) and
// the changed members, and returns the new value; it must not change the old
// one, and its result must depend on the set of members only. equal tells
// whether two values mean the same.
func NewFold[K, ID comparable, M, V any](e *Engine, step func(V, []Member[ID, M]) V, equal func(a, b V) bool) *Fold[K, ID, M, V] {
	f := &Fold[K, ID, M, V]{engine: e, step: step, equal: equal, cells: newTable[K, *foldCell[K, ID, M, V]]()}
	e.add(f)
	return f
}

// Place is where a member goes: into the value of Key, under ID.
type Place[K, ID comparable] struct {
	Key K
	ID  ID
}

// From makes the values of a source members of f: emit calls yield for each
// member of a value, at most once for each place. Members of different sources
// and keys must not meet in one place. equal tells whether a member stayed the
// same, so that its fold need not hear of it.
func From[S, K, ID comparable, X, M, V any](f *Fold[K, ID, M, V], of Keyed[S, X],
	emit func(key S, value X, yield func(Place[K, ID], M)), equal func(a, b M) bool,
) {
	of.subscribe(func(key S, change Change[X]) {
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

func (f *Fold[K, ID, M, V]) put(at Place[K, ID], change Change[M]) {
	cell := f.cell(at.Key)
	if len(cell.pending) == 0 {
		f.queue = append(f.queue, cell)
	}
	cell.pending = append(cell.pending, Member[ID, M]{ID: at.ID, Change: change})
	switch {
	case !change.Had:
		cell.members++
	case !change.Has:
		cell.members--
	}
}

// Get reads the value of key; ok is false when it has no members, which is
// recorded as well.
func (f *Fold[K, ID, M, V]) Get(c *Ctx, key K) (value V, ok bool) {
	cell := f.cell(key)
	c.record(cell)
	return cell.value, cell.present
}

func (f *Fold[K, ID, M, V]) cell(key K) *foldCell[K, ID, M, V] {
	cell, ok := f.cells.get(key)
	if !ok {
		cell = &foldCell[K, ID, M, V]{fold: f, key: key}
		f.cells.put(cell)
	}
	return cell
}

func (f *Fold[K, ID, M, V]) flush() bool {
	queue := f.queue
	f.queue = nil
	for _, cell := range queue {
		f.settle(cell)
	}
	return len(queue) > 0
}

func (f *Fold[K, ID, M, V]) settle(cell *foldCell[K, ID, M, V]) {
	pending := cell.pending
	cell.pending = nil
	change := Change[V]{Old: cell.value, Had: cell.present, Has: cell.members > 0}
	if change.Has {
		change.New = f.step(cell.value, pending)
	}
	if !change.Had && !change.Has || change.Had && change.Has && f.equal(change.Old, change.New) {
		cell.collect()
		return
	}
	cell.value, cell.present = change.New, change.Has
	cell.changed()
	f.tell(cell.key, change)
	cell.collect()
}
