package memo

import "iter"

// fewKeys is how many keys a set holds in a list: most hold one, for which a map is ten
// times as large.
const fewKeys = 8

// set holds keys, each once. Its zero value is empty.
type set[K comparable] struct {
	few  []K
	many map[K]struct{} // in place of few, beyond fewKeys
}

func (s *set[K]) len() int { return len(s.few) + len(s.many) }

func (s *set[K]) add(key K) {
	if s.many != nil {
		s.many[key] = struct{}{}
		return
	}
	for _, k := range s.few {
		if k == key {
			return
		}
	}
	if len(s.few) < fewKeys {
		s.few = append(s.few, key)
		return
	}
	s.many = make(map[K]struct{}, 2*fewKeys)
	for _, k := range s.few {
		s.many[k] = struct{}{}
	}
	s.many[key], s.few = struct{}{}, nil
}

func (s *set[K]) remove(key K) {
	delete(s.many, key)
	for i, k := range s.few {
		if k == key {
			last := len(s.few) - 1
			s.few[i] = s.few[last]
			clear(s.few[last:])
			s.few = s.few[:last]
			return
		}
	}
}

// all yields the keys in no order. The set must not change meanwhile.
func (s *set[K]) all() iter.Seq[K] {
	return func(yield func(K) bool) {
		if s == nil {
			return
		}
		for _, k := range s.few {
			if !yield(k) {
				return
			}
		}
		for k := range s.many {
			if !yield(k) {
				return
			}
		}
	}
}
