package plan

import "fmt"

// sampleKey is the key of sampler.known: the arguments of samplesOf.
type sampleKey struct{ pattern, others, characters string }

// samples are values that a regular expression matches. If whole is false, some values may be missing (see
// patterns.samples).
type samples struct {
	values []string
	whole  bool
}

// sampler caches the results of patterns.samples.
type sampler struct {
	patterns patterns
	budget   *budget
	known    map[sampleKey]samples
}

// samplesOf returns the result of patterns.samples for these arguments, from the cache if possible. If the
// budget is spent, samplesOf does not cache the result, because some values may be missing.
func (s *sampler) samplesOf(pattern string, others []string, characters string) samples {
	key := sampleKey{pattern, fmt.Sprintf("%q", others), characters}
	known, ok := s.known[key]
	if !ok {
		known.values, known.whole = s.patterns.samples(pattern, others, characters, s.budget)
		if !s.budget.spent() { // an early end may leave out values
			s.known[key] = known
		}
	}
	return known
}
