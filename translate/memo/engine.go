package memo

import (
	"reflect"
	"slices"
)

// Engine runs the rules and folds that are declared on it.
type Engine struct {
	families []family
	// idle are cells that may no longer be needed, for example because they lost their last reader. collectIdle
	// removes those that nothing needs by then.
	idle []cell
	// spare are empty lists of reads for reuse. There may be several, because a run can start another run.
	spare [][]*node
	// keys has a *keys[K] for each type K of keys.
	keys map[reflect.Type]any
	// trace, if not nil, is called with each rule that ran, as a part of the run. step is the same for folds.
	trace, step func(family string, key any)
	// stop, if not nil, can interrupt the present Flush. ended is its error after an interruption.
	stop  Stop
	ended error
}

// Stop interrupts a Flush when Err returns an error. A context.Context is a Stop.
type Stop interface{ Err() error }

// family is a Rule or Fold as the engine uses it.
type family interface {
	// flush computes the queued values, and reports whether there were any.
	flush() bool
	// describe returns the name of the family and the families that it depends on.
	describe() Family
}

// New returns an engine without families.
func New() *Engine { return &Engine{keys: map[reflect.Type]any{}} }

// Trace makes the engine call the function ran at the end of each run of a rule, with the rule's name and the key, and
// the function stepped (if it is not nil) when a fold has computed a value. A run that panics is not reported. A panic of
// these functions counts as one of the rule or fold.
func (e *Engine) Trace(ran, stepped func(family string, key any)) { e.trace, e.step = ran, stepped }

// add declares a family. Families are flushed in the order in which they are added.
func (e *Engine) add(f family) { e.families = append(e.families, f) }

// Flush brings all values up to date. It runs the rules and folds that have not run yet or whose inputs changed,
// and no others. It does not run a rule for a value that nothing needs. If stop is not nil, Flush checks it before
// each rule, each read of a rule and each value of a fold. If stop has an error, Flush ends and returns that error.
// If the function of a rule or fold panics, Flush ends and returns a *Panic. In both cases finished work is kept, and the
// next Flush continues, even if inputs change in between. Any other panic leaves the engine inconsistent: it must not be
// used any more, and Flush panics, too.
func (e *Engine) Flush(stop Stop) (err error) {
	e.stop, e.ended = stop, nil
	defer func() {
		e.stop = nil
		switch said := recover().(type) {
		case nil:
		case *Panic:
			err = said
		default:
			if e.ended == nil {
				panic(said)
			}
			err = e.ended // it is the panic of check
		}
	}()
	for e.settleFirst() || e.collectIdle() {
	}
	return nil
}

// check panics if the Stop of the present Flush has an error, and Flush recovers from that panic. A rule that
// was running is run again by the next Flush (see Engine.abandon).
func (e *Engine) check() {
	if e.stop == nil {
		return
	}
	if err := e.stop.Err(); err != nil {
		e.ended = err
		panic(err)
	}
}

// settleFirst finds the first family, in the order of declaration, that has queued values, and computes these values.
// It returns false if no family has queued values. Later families wait, so that no value is computed from half of a
// change.
func (e *Engine) settleFirst() bool {
	return slices.ContainsFunc(e.families, family.flush)
}

// collectIdle takes all cells off the list e.idle. It removes from the engine those that nothing needs now. The
// others stay in the engine. It reports whether e.idle had any cells, removed from the engine or not.
func (e *Engine) collectIdle() bool {
	collected := len(e.idle) > 0
	for len(e.idle) > 0 {
		batch := e.idle
		e.idle = nil
		for _, c := range batch {
			c.collect()
		}
	}
	return collected
}

// node is what the cells of all families have in common. It has the readers of the cell's value, and the link
// to the next cell with the same key (see row).
type node struct {
	cell cell
	// next is the cell of another family for the same key, or nil.
	next *node
	// If the field more is nil, the field one is the only reader, or nil if there is none. Otherwise more has all
	// readers.
	one  *instance
	more *set[*instance]
}

// head implements cell.
func (n *node) head() *node { return n }

// enqueue implements cell. It does nothing; only the cell of a rule (ruleCell) has another enqueue.
func (n *node) enqueue() {}

// read records that a rule (the parameter reader) reads n: the rule runs again when the value of n changes. If this
// is recorded already, nothing changes.
func (n *node) read(reader *instance) {
	switch {
	case n.more != nil:
		n.more.add(reader)
	case n.one == nil || n.one == reader:
		n.one = reader
	default:
		n.more = &set[*instance]{}
		n.more.add(n.one)
		n.more.add(reader)
		n.one = nil
	}
}

// forget removes a rule (by) from the readers of n. If the rule is no reader, nothing changes.
func (n *node) forget(by *instance) {
	if n.one == by {
		n.one = nil
	}
	if n.more == nil {
		return
	}
	if n.more.remove(by); n.more.len() == 0 {
		n.more = nil
	}
}

// unread reports whether n has no reader.
func (n *node) unread() bool { return n.one == nil && n.more == nil }

// changed makes every reader run again. It is called after the value of n changed.
func (n *node) changed() {
	if n.one != nil {
		n.one.invalidate()
	}
	for reader := range n.more.all() {
		reader.invalidate()
	}
}

// instance is the part of a rule's cell that does not depend on the type of the value: what the last run read,
// and whether the rule must run again. Each key of a rule has one.
type instance struct {
	node
	reads []*node
	// pins counts the source values that require this key's value. A caller of EachOf names a source, for example an
	// Input, and each value of the source then requires the rule's values for some keys. While pins is not 0, this
	// key's value is computed and kept, even if no rule reads it.
	pins                   int32
	dirty, running, queued bool
	// ready is true if the value was computed at least once.
	ready bool
}

// invalidate makes the rule run again for this key.
func (i *instance) invalidate() {
	i.dirty = true
	i.schedule()
}

// schedule queues the instance for the next flush of its family if it is dirty.
func (i *instance) schedule() {
	if i.dirty && !i.queued {
		i.queued = true
		i.cell.enqueue()
	}
}

// Ctx reads values for one run of a rule, and records the reads. It is valid only during that run.
type Ctx struct {
	engine *Engine
	reader *instance
	// reads has the cells that the run has read, in order, each once. If there are more than manyReads, the map many
	// has them, too.
	reads []*node
	many  map[*node]struct{}
}

// manyReads is the number of reads of a run up to which Ctx.has searches a list. Above it, Ctx.has uses a map.
const manyReads = 32

// Pause lets the Flush be interrupted. A rule that works for long between two reads should call it from time to
// time.
func (c *Ctx) Pause() { c.engine.check() }

// record records that the rule read n, so that the rule runs again when n changes. If the cell of n may not exist
// yet, the caller must do three steps in this order: call Pause, create the cell, call record. Pause can interrupt
// the Flush. An interruption after the creation and before record would leave a cell without a reader.
func (c *Ctx) record(n *node) {
	if c.has(n) {
		return
	}
	c.reads = append(c.reads, n)
	n.read(c.reader)
	switch {
	case c.many != nil:
		c.many[n] = struct{}{}
	case len(c.reads) > manyReads:
		c.many = make(map[*node]struct{}, 2*manyReads)
		for _, n := range c.reads {
			c.many[n] = struct{}{}
		}
	}
}

// has reports whether the run has read n.
func (c *Ctx) has(n *node) bool {
	if c.many == nil {
		return slices.Contains(c.reads, n)
	}
	_, ok := c.many[n]
	return ok
}

// begin starts a run of a rule for one key (i), and returns the Ctx of the run.
func (e *Engine) begin(i *instance) *Ctx {
	i.running, i.dirty = true, false
	c := &Ctx{engine: e, reader: i}
	if last := len(e.spare) - 1; last >= 0 {
		c.reads, e.spare = e.spare[last], e.spare[:last]
	}
	return c
}

// end ends the run of a rule. The rule is no longer a reader of cells that it read in the previous run and not
// in this one.
func (e *Engine) end(c *Ctx) {
	c.reader.running = false
	if !slices.Equal(c.reader.reads, c.reads) {
		e.release(c.reader, c.has)
		c.reader.reads = slices.Concat(c.reads)
	}
	clear(c.reads)
	e.spare = append(e.spare, c.reads[:0])
}

// abandon ends a run of a rule that panicked. The rule runs again in the next Flush, if its value is still needed.
// Until then, the rule remains a reader of all cells that this run or the previous run read.
func (e *Engine) abandon(c *Ctx) {
	i := c.reader
	i.running = false
	for _, n := range i.reads {
		if !c.has(n) {
			c.reads = append(c.reads, n)
		}
	}
	i.reads = slices.Clip(c.reads)
	if i.pins == 0 && i.unread() {
		e.idle = append(e.idle, i.cell) // the rule that needed it for the first time is abandoned, too
	}
	i.invalidate()
}

// release removes a rule (the parameter reader) from the readers of the cells that the rule's last run read. It skips
// the cells that the rule still reads: those for which the function keep returns true. A cell without readers becomes
// idle (see Engine.idle).
func (e *Engine) release(reader *instance, keep func(*node) bool) {
	for _, n := range reader.reads {
		if keep(n) {
			continue
		}
		if n.forget(reader); n.unread() {
			e.idle = append(e.idle, n.cell)
		}
	}
	reader.reads = nil
}

// Keyed has values by key. Input, Rule, Fold and Join implement it.
type Keyed[K comparable, V any] interface {
	// subscribe registers fn, which is called whenever the value of a key is added, changed or removed. The
	// parameter by is the label of the family that depends on the values, or nil for none.
	subscribe(by *label, fn func(K, Change[V]))
}

// Change is a value that was added (Had is false), changed (Had and Has are true), or removed (Has is false).
type Change[V any] struct {
	Old, New V
	Had, Has bool
}

// subscribers are the functions that are called with each change of a value of one family. Folds, Indexes, Joins and
// Sinks register such functions, and so do the functions Each, EachOf and Watch.
type subscribers[K comparable, V any] struct {
	label
	fns []func(K, Change[V])
}

// subscribe implements Keyed.
func (s *subscribers[K, V]) subscribe(by *label, fn func(K, Change[V])) {
	s.fns = append(s.fns, fn)
	if by != nil {
		by.sources = append(by.sources, s.names()...)
	}
}

// notify calls all subscribed functions with a change (c) of the value of a key (k).
func (s *subscribers[K, V]) notify(k K, c Change[V]) {
	for _, fn := range s.fns {
		fn(k, c)
	}
}
