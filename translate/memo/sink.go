package memo

// Sink collects the changes of a family (an input, a rule or a fold). Drain returns the changes and removes them.
type Sink[K comparable, V any] struct {
	changes map[K]Change[V]
}

// NewSink declares a sink that collects the changes of the given family (an input, a rule or a fold).
func NewSink[K comparable, V any](of Keyed[K, V]) *Sink[K, V] {
	s := &Sink[K, V]{changes: map[K]Change[V]{}}
	of.subscribe(nil, s.note)
	return s
}

// note joins a change with the earlier changes of the same key. The sink keeps one change for each key, from
// the value before the first change to the value after the last change. For a value that was added and then
// removed, nothing is kept.
func (s *Sink[K, V]) note(key K, change Change[V]) {
	if first, ok := s.changes[key]; ok {
		change.Old, change.Had = first.Old, first.Had
	}
	if !change.Had && !change.Has {
		delete(s.changes, key)
		return
	}
	s.changes[key] = change
}

// Drain returns the collected changes by key, and removes them from the sink.
func (s *Sink[K, V]) Drain() map[K]Change[V] {
	changes := s.changes
	s.changes = map[K]Change[V]{}
	return changes
}

// Watch calls fn with each new value of a family (an input, a rule or a fold). If a value is removed, Watch calls fn
// with the zero V.
func Watch[K comparable, V any](of Keyed[K, V], fn func(K, V)) {
	of.subscribe(nil, func(key K, change Change[V]) { fn(key, change.New) })
}
