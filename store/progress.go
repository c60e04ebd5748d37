package store

import "sync"

// progressStep is how many documents are read between two calls of Options.Progress.
const progressStep = 100

// counting returns what is to be called whenever one of so many documents is read.
func (s *Store) counting(of int) func() {
	if s.options.Progress == nil {
		return func() {}
	}
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; done%progressStep == 1 || done == of {
			s.options.Progress(done, of)
		}
	}
}
