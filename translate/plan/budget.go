package plan

import (
	"context"
	"fmt"
)

// The steps that one Compare, and the tables of one host in it, may cost. A step is about one entry
// that is looked at, or one automaton that reads one character.
const (
	maxTotalSteps = 40_000_000
	maxHostSteps  = 10_000_000
)

// budget limits the cost of one Compare. It also ends with the context.
type budget struct {
	ctx         context.Context
	total, host int // the steps that are left
}

// spend uses up steps. It returns false if too few are left for this host, or in all.
func (b *budget) spend(steps int) bool {
	b.total, b.host = b.total-steps, b.host-steps
	return !b.spent()
}

func (b *budget) spent() bool { return b.total < 0 || b.host < 0 || b.ctx.Err() != nil }

// sampleKey has the arguments of lists.samplesOf.
type sampleKey struct{ pattern, others, characters string }

// spent reports whether the search is incomplete because there are too many pairs.
func (f *finder) spent() bool { return f.attempts > maxPairs || f.budget.spent() }

// samples are values that an expression matches; whole is true if there is one of each kind.
type samples struct {
	values []string
	whole  bool
}

// samplesOf is patterns.samples, each worked out once.
func (l lists) samplesOf(pattern string, others []string, characters string) samples {
	key := sampleKey{pattern, fmt.Sprintf("%q", others), characters}
	known, ok := l.samples[key]
	if !ok {
		known.values, known.whole = l.patterns.samples(pattern, others, characters, l.budget)
		if !l.budget.spent() { // or else they may not be all
			l.samples[key] = known
		}
	}
	return known
}
