package memo

import "iter"

// fewKeys is how many keys a set stores in a list. Most sets have one key, and a map for one key is ten times
// as large as a list.
const fewKeys = 8

// set is a set of keys. Its zero value is empty.
type set[K comparable] struct {
	few  []K
	many map[K]struct{} // instead of few, for more than fewKeys
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

// all yields the keys in no particular order. s may be nil. The set must not change meanwhile.
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
