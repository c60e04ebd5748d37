package memo

import (
	"fmt"
	"slices"
)

// Engine runs the families that were declared on it.
type Engine struct {
	families []family
	// idle are sources that lost their last reader and may be collectable.
	idle []collectable
	// spare are lists of reads, to be filled again: runs lie in one another.
	spare [][]readable
	trace bool
	ran   []string
	epoch uint64
}

// family is an Input, Index, Rule or Fold as the engine sees it.
type family interface {
	// flush settles what is dirty and tells whether anything was.
	flush() bool
}

// collectable is a cell that can be dropped when nothing needs it.
type collectable interface {
	collect()
}

// New gives an engine without families. With trace, Flush tells which rules ran.
func New(trace bool) *Engine { return &Engine{trace: trace} }

func (e *Engine) add(f family) { e.families = append(e.families, f) }

// Flush runs what the changed inputs made necessary, and nothing else. When
// tracing it returns the rules that ran, as "family key", sorted: a rule that
// ran twice is named once.
func (e *Engine) Flush() []string {
	e.ran = nil
	for e.settleFirst() || e.collectIdle() {
	}
	slices.Sort(e.ran)
	return slices.Compact(e.ran)
}

// settleFirst settles the first family that is dirty, in the order of
// declaration, and tells whether there was one. What is declared behind it waits
// until it is quiet, also when it hears of changes through a later family: so
// nothing is made of half a change, only to be made again.
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

// source is what can be read: it knows its readers.
type source struct {
	// one is the only reader in the common case; more holds all when there are
	// several. The number is the reader's run that read it last.
	one      *instance
	oneEpoch uint64
	more     *readers
}

// readers are several, each with the number of its run that read last: a list while
// they are few.
type readers struct {
	few  []reading
	many map[*instance]uint64
}

type reading struct {
	by    *instance
	epoch uint64
}

func (r *readers) record(by *instance, epoch uint64) bool {
	if r.many != nil {
		first := r.many[by] != epoch
		r.many[by] = epoch
		return first
	}
	for i := range r.few {
		if one := &r.few[i]; one.by == by {
			first := one.epoch != epoch
			one.epoch = epoch
			return first
		}
	}
	if len(r.few) < fewKeys {
		r.few = append(r.few, reading{by, epoch})
		return true
	}
	r.many = make(map[*instance]uint64, 2*fewKeys)
	for _, one := range r.few {
		r.many[one.by] = one.epoch
	}
	r.many[by], r.few = epoch, nil
	return true
}

// forget drops a reader unless it read in the run epoch, and tells whether none is left.
func (r *readers) forget(by *instance, epoch uint64) (none bool) {
	if last, ok := r.many[by]; ok && last != epoch {
		delete(r.many, by)
	}
	r.few = slices.DeleteFunc(r.few, func(one reading) bool { return one.by == by && one.epoch != epoch })
	return len(r.few)+len(r.many) == 0
}

// record notes that reader's run epoch read s, and tells whether it is the
// first time in that run.
func (s *source) record(reader *instance, epoch uint64) bool {
	switch {
	case s.more != nil:
		return s.more.record(reader, epoch)
	case s.one == nil || s.one == reader:
		first := s.one == nil || s.oneEpoch != epoch
		s.one, s.oneEpoch = reader, epoch
		return first
	}
	s.more = &readers{few: []reading{{s.one, s.oneEpoch}, {reader, epoch}}}
	s.one = nil
	return true
}

// forget drops reader unless it read s in the run epoch.
func (s *source) forget(reader *instance, epoch uint64) {
	switch {
	case s.more != nil:
		if s.more.forget(reader, epoch) {
			s.more = nil
		}
	case s.one == reader && s.oneEpoch != epoch:
		s.one = nil
	}
}

func (s *source) unread() bool { return s.one == nil && s.more == nil }

// changed makes every reader run again.
func (s *source) changed() {
	if s.one != nil {
		s.one.invalidate()
	}
	if s.more == nil {
		return
	}
	for _, one := range s.more.few {
		one.by.invalidate()
	}
	for reader := range s.more.many {
		reader.invalidate()
	}
}

// readable is a source with the duty to go when nobody reads it.
type readable interface {
	collectable
	base() *source
}

// instance is one key of a rule as its sources see it.
type instance struct {
	reads   []readable
	dirty   bool
	running bool
	queued  bool
	cell    interface{ enqueue() } // whose instance it is
}

func (i *instance) invalidate() {
	i.dirty = true
	i.schedule()
}

// schedule has a dirty instance looked at by the next flush of its family.
func (i *instance) schedule() {
	if i.dirty && !i.queued {
		i.queued = true
		i.cell.enqueue()
	}
}

// Ctx is how a rule reads. It is valid during one run only.
type Ctx struct {
	engine *Engine
	reader *instance
	epoch  uint64
	reads  []readable
}

func (c *Ctx) record(r readable) {
	if r.base().record(c.reader, c.epoch) {
		c.reads = append(c.reads, r)
	}
}

// begin opens a run of i.
func (e *Engine) begin(i *instance) *Ctx {
	e.epoch++
	i.running, i.dirty = true, false
	c := &Ctx{engine: e, reader: i, epoch: e.epoch}
	if last := len(e.spare) - 1; last >= 0 {
		c.reads, e.spare = e.spare[last], e.spare[:last]
	}
	return c
}

// note remembers that a rule ran.
func (e *Engine) note(name string, key any) {
	e.ran = append(e.ran, fmt.Sprint(name, " ", key))
}

// end closes the run: what it read before and did not read now is let go.
func (e *Engine) end(c *Ctx) {
	c.reader.running = false
	e.release(c.reader, c.epoch)
	if len(c.reads) > 0 {
		c.reader.reads = append(make([]readable, 0, len(c.reads)), c.reads...)
	}
	clear(c.reads)
	e.spare = append(e.spare, c.reads[:0])
}

// release lets go of all that reader read, except in the run epoch.
func (e *Engine) release(reader *instance, epoch uint64) {
	for _, r := range reader.reads {
		r.base().forget(reader, epoch)
		if r.base().unread() {
			e.idle = append(e.idle, r)
		}
	}
	reader.reads = nil
}

// Keyed is whatever has values by key: an Input, a Rule or a Fold.
type Keyed[K comparable, V any] interface {
	// subscribe calls fn whenever the value of a key comes, changes or goes.
	subscribe(fn func(K, Change[V]))
}

// Change is a value that came (Had is false), changed, or went (Has is false).
type Change[V any] struct {
	Old, New V
	Had, Has bool
}

// subscribers tells others of changed values.
type subscribers[K comparable, V any] []func(K, Change[V])

func (s *subscribers[K, V]) subscribe(fn func(K, Change[V])) { *s = append(*s, fn) }

func (s subscribers[K, V]) tell(k K, c Change[V]) {
	for _, fn := range s {
		fn(k, c)
	}
}
