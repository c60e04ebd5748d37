package memo

import "fmt"

// Rule computes one value per key.
type Rule[K comparable, V any] struct {
	engine *Engine
	run    func(*Ctx, K) V
	equal  func(a, b V) bool
	cells  table[K, *ruleCell[K, V]]
	queue  []*ruleCell[K, V]
	subscribers[K, V]
}

// ruleCell is the value of a Rule for one key.
type ruleCell[K comparable, V any] struct {
	instance
	rule  *Rule[K, V]
	row   *row[K] // nil after the cell was removed
	value V
}

// at returns the row of the cell's key, nil after the cell was removed. It implements cellOf.
func (c *ruleCell[K, V]) at() *row[K] { return c.row }

// of returns the Rule that the cell belongs to. It implements cell.
func (c *ruleCell[K, V]) of() any { return c.rule }

// enqueue implements cell: it queues the cell for the next flush of its rule.
func (c *ruleCell[K, V]) enqueue() { c.rule.queue = append(c.rule.queue, c) }

// NewRule declares a rule. The function run computes the value of a key. The function equal reports whether two
// values are equal. The parameter name is what Engine.Trace and Engine.Families report.
func NewRule[K comparable, V any](e *Engine, name string, run func(*Ctx, K) V, equal func(a, b V) bool) *Rule[K, V] {
	r := &Rule[K, V]{engine: e, run: run, equal: equal}
	r.name = name
	r.cells = newTable[K, *ruleCell[K, V]](e, r)
	e.add(r)
	return r
}

// Get returns the value of key and records the read. If the value is missing or out of date, the rule runs
// first. Get panics if the rule is already running for this key.
func (r *Rule[K, V]) Get(c *Ctx, key K) V {
	c.Pause()
	cell := r.cell(key)
	if cell.running {
		panic(fmt.Sprintf("memo: %s %v reads itself", r.name, key))
	}
	if cell.dirty {
		r.compute(cell)
	}
	c.record(&cell.node)
	return cell.value
}

// Peek returns the value of key as it was computed last. It returns false if there is none. It records no read.
func (r *Rule[K, V]) Peek(key K) (value V, ok bool) {
	if cell, there := r.cells.get(key); there {
		return cell.value, true
	}
	return value, false
}

// Each makes the rule r compute and keep a value for every key of the source, also for keys that the source gets
// later.
func Each[K comparable, X, V any](r *Rule[K, V], source Keyed[K, X]) {
	EachOf(r, source, func(key K, _ X) []K { return []K{key} })
}

// EachOf makes the rule r compute and keep the values that a source requires. For each value x of the source, with
// its key s, the call keys(s, x) returns the keys of r whose values are required.
func EachOf[S, K comparable, X, V any](r *Rule[K, V], source Keyed[S, X], keys func(S, X) []K) {
	source.subscribe(nil, func(at S, change Change[X]) {
		if change.Has {
			for _, key := range keys(at, change.New) {
				cell := r.cell(key)
				cell.pins++
				cell.schedule()
			}
		}
		if change.Had {
			for _, key := range keys(at, change.Old) {
				r.unpin(key)
			}
		}
	})
}

// unpin records that one value of a source (see EachOf) no longer requires the rule's value for the key. It
// decrements the field pins of the key's cell. If pins is then 0 and no rule reads the cell, unpin adds the cell to
// Engine.idle: the engine may remove the cell.
func (r *Rule[K, V]) unpin(key K) {
	cell, _ := r.cells.get(key)
	cell.pins--
	if cell.pins == 0 && cell.unread() {
		r.engine.idle = append(r.engine.idle, cell)
	}
}

// cell returns the cell of key. If there is none, it creates one, and the rule is due to run for the key.
func (r *Rule[K, V]) cell(key K) *ruleCell[K, V] {
	cell, ok := r.cells.get(key)
	if !ok {
		cell = &ruleCell[K, V]{rule: r, row: r.cells.keys.add(key)}
		r.cells.put(cell)
		cell.invalidate()
	}
	return cell
}

// flush implements family.
func (r *Rule[K, V]) flush() bool {
	queue, done := r.queue, 0
	r.queue = nil
	defer func() {
		if done < len(queue) { // after a panic the other cells are still due
			r.queue = append(queue[done:], r.queue...)
		}
	}()
	for _, cell := range queue {
		r.engine.check()
		cell.queued = false
		done++
		if cell.dirty && cell.needed() {
			r.compute(cell)
		}
	}
	return len(queue) > 0
}

// needed reports whether a rule reads the value, or the function Each or EachOf requires it.
func (c *ruleCell[K, V]) needed() bool { return c.pins > 0 || !c.unread() }

// compute runs the rule for a cell. If the value changed, readers and subscribers are notified.
func (r *Rule[K, V]) compute(cell *ruleCell[K, V]) {
	value, changed := r.evaluate(cell)
	if !changed {
		return
	}
	change := Change[V]{Old: cell.value, Had: cell.ready, New: value, Has: true}
	cell.value, cell.ready = value, true
	cell.changed()
	r.notify(cell.row.key, change)
}

// evaluate runs the rule for a cell, and reports whether the value changed. The caller stores the value. If the rule
// panics, evaluate panics with a *Panic.
func (r *Rule[K, V]) evaluate(cell *ruleCell[K, V]) (value V, changed bool) {
	ctx, ended := r.engine.begin(&cell.instance), false
	defer func() {
		if ended {
			return
		}
		r.engine.abandon(ctx)
		if r.engine.ended == nil { // otherwise check panics
			panic(panicked(recover(), r.name, cell.row.key))
		}
	}()
	value = r.run(ctx, cell.row.key)
	changed = !cell.ready || !r.equal(cell.value, value)
	if r.engine.trace != nil {
		r.engine.trace(r.name, cell.row.key)
	}
	r.engine.end(ctx)
	ended = true
	return value, changed
}

// collect removes the cell if its value is not needed (see the method needed). The cell then no longer counts as a
// reader of the values that its last run read. Subscribers are told that the cell's value is gone.
func (c *ruleCell[K, V]) collect() {
	if c.row == nil || c.needed() {
		return
	}
	key := c.row.key
	c.rule.cells.remove(c)
	c.row = nil
	c.rule.engine.release(&c.instance, func(*node) bool { return false })
	if c.ready {
		c.rule.notify(key, Change[V]{Old: c.value, Had: true})
	}
}
