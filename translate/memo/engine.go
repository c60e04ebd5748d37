package memo

import (
	"reflect"
	"slices"
)

// Engine runs the families that are declared on it.
type Engine struct {
	families []family
	// idle are cells that lost their last reader and may go.
	idle []cell
	// spare are lists of reads, to be filled again: runs lie in one another.
	spare [][]*node
	// keys holds a *keys[K] for each type K of keys.
	keys map[reflect.Type]any
	// trace, where it is not nil, is called with each rule that ran.
	trace func(rule string, key any)
	// stop ends the present Flush, and ended is its error once it has.
	stop  Stop
	ended error
	// torn is set while a change is handed to those that depend on it.
	torn bool
}

// Stop interrupts a Flush as soon as Err is not nil. A context.Context is a Stop.
type Stop interface{ Err() error }

// family is an Input, Index, Rule or Fold as the engine sees it.
type family interface {
	// flush settles what is dirty, and reports whether anything was.
	flush() bool
	// describe says what the family is called and what it depends on.
	describe() Family
}

// New returns an engine without families.
func New() *Engine { return &Engine{keys: map[reflect.Type]any{}} }

// Trace calls fn for each rule that runs, with the rule's name and the key.
func (e *Engine) Trace(fn func(rule string, key any)) { e.trace = fn }

func (e *Engine) add(f family) { e.families = append(e.families, f) }

// Flush runs the rules and folds whose inputs changed, and no others. If stop is not nil, Flush
// checks it before each rule, each read of a rule and each value of a fold, and returns its
// error. Work that was done is kept: the next Flush does the rest, also if inputs change before
// it.
func (e *Engine) Flush(stop Stop) (err error) {
	e.stop, e.ended = stop, nil
	defer func() {
		if e.stop = nil; e.ended != nil {
			_ = recover() // it is the panic of check
			err = e.ended
		}
	}()
	for e.settleFirst() || e.collectIdle() {
	}
	return nil
}

// Torn reports whether a panic left the engine inconsistent, so that it must not be used any
// more. A panic of a rule itself does not: the rule will run again.
func (e *Engine) Torn() bool { return e.torn }

// check ends the Flush if stop demands it. The interrupted rules become due again (Engine.abandon).
func (e *Engine) check() {
	if e.stop == nil {
		return
	}
	if err := e.stop.Err(); err != nil {
		e.ended = err
		panic(err)
	}
}

// settleFirst settles the first family that is dirty, in the order of declaration, and reports
// whether there was one. Later families wait until it is clean, even if a later family makes it
// dirty again. So no value is computed from half of a change.
func (e *Engine) settleFirst() bool {
	return slices.ContainsFunc(e.families, family.flush)
}

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

// node is the common part of every cell: its readers, and its neighbours in a list.
type node struct {
	cell cell
	// next is a cell of another family for the same key.
	next *node
	// one is the only reader in the common case; more holds all when there are several.
	one  *instance
	more *set[*instance]
}

func (n *node) head() *node { return n }

func (n *node) enqueue() {}

// read adds a reader, which may be there already.
func (n *node) read(by *instance) {
	switch {
	case n.more != nil:
		n.more.add(by)
	case n.one == nil || n.one == by:
		n.one = by
	default:
		n.more = &set[*instance]{}
		n.more.add(n.one)
		n.more.add(by)
		n.one = nil
	}
}

// forget drops a reader.
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

func (n *node) unread() bool { return n.one == nil && n.more == nil }

// changed makes every reader run again.
func (n *node) changed() {
	if n.one != nil {
		n.one.invalidate()
	}
	for reader := range n.more.all() {
		reader.invalidate()
	}
}

// instance is one key of a rule, as the cells that it reads refer to it.
type instance struct {
	node
	reads []*node
	// pins counts what asks for the value by Each.
	pins                   int32
	dirty, running, queued bool
	// ready is true if the value was computed at least once.
	ready bool
}

func (i *instance) invalidate() {
	i.dirty = true
	i.schedule()
}

// schedule adds a dirty instance to the next flush of its family.
func (i *instance) schedule() {
	if i.dirty && !i.queued {
		i.queued = true
		i.cell.enqueue()
	}
}

// Ctx reads values for a rule, and records the reads. It is valid only during one run of the rule.
type Ctx struct {
	engine *Engine
	reader *instance
	// reads are in order, each once; many has them as well, once they are.
	reads []*node
	many  map[*node]struct{}
}

// manyReads is how many reads are looked through, one by one.
const manyReads = 32

// Pause is a point at which the run can be interrupted. A rule that works for long between two
// reads should call it from time to time.
func (c *Ctx) Pause() { c.engine.check() }

// record notes a read. The reader calls Pause before the cell exists, so that no cell is left
// without a reader.
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

// begin opens a run of i.
func (e *Engine) begin(i *instance) *Ctx {
	i.running, i.dirty = true, false
	c := &Ctx{engine: e, reader: i}
	if last := len(e.spare) - 1; last >= 0 {
		c.reads, e.spare = e.spare[last], e.spare[:last]
	}
	return c
}

// end ends the run. Cells that the previous run read and this run did not are released.
func (e *Engine) end(c *Ctx) {
	c.reader.running = false
	if !slices.Equal(c.reader.reads, c.reads) {
		e.release(c.reader, c.has)
		c.reader.reads = slices.Concat(c.reads)
	}
	clear(c.reads)
	e.spare = append(e.spare, c.reads[:0])
}

// abandon ends a run that panicked, and makes the rule due again. Until it runs, changes of cells
// that it read in this run or the previous one still reach it.
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
		e.idle = append(e.idle, i.cell) // it was read for the first time, and its reader was left as well
	}
	i.invalidate()
}

// release removes a reader from the cells that it read, except for those for which still returns
// true.
func (e *Engine) release(reader *instance, still func(*node) bool) {
	for _, n := range reader.reads {
		if still(n) {
			continue
		}
		if n.forget(reader); n.unread() {
			e.idle = append(e.idle, n.cell)
		}
	}
	reader.reads = nil
}

// Keyed has values by key: it is an Input, a Rule or a Fold.
type Keyed[K comparable, V any] interface {
	// subscribe calls fn whenever the value of a key comes, changes or goes. by is the family
	// that depends on the values, nil for none.
	subscribe(by *label, fn func(K, Change[V]))
}

// Change is a value that was added (Had is false), changed, or removed (Has is false).
type Change[V any] struct {
	Old, New V
	Had, Has bool
}

// subscribers passes changed values on to folds and sinks.
type subscribers[K comparable, V any] struct {
	label
	fns []func(K, Change[V])
}

func (s *subscribers[K, V]) subscribe(by *label, fn func(K, Change[V])) {
	s.fns = append(s.fns, fn)
	if by != nil {
		by.sources = append(by.sources, s.names()...)
	}
}

func (s *subscribers[K, V]) notify(k K, c Change[V]) {
	for _, fn := range s.fns {
		fn(k, c)
	}
}
