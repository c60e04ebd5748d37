package plan

import "context"

// maxTotalSteps is the number of steps that one Compare may use. maxHostSteps is the number of steps that it may use
// for the tables of one host. A step is about one entry that is examined, or one character that an automaton reads.
const (
	maxTotalSteps = 40_000_000
	maxHostSteps  = 10_000_000
)

// budget limits the cost of one Compare. It is spent if no steps are left, or if ctx has ended.
type budget struct {
	ctx         context.Context
	total, host int // the steps that are left
}

// spend subtracts the parameter steps from b.total and b.host. It returns false if the budget is spent after that.
func (b *budget) spend(steps int) bool {
	b.total, b.host = b.total-steps, b.host-steps
	return !b.spent()
}

// spent reports whether the budget of this host or of the whole Compare is used up. It also returns true if ctx
// has ended.
func (b *budget) spent() bool { return b.total < 0 || b.host < 0 || b.ctx.Err() != nil }

// spent reports whether the search ended early, because there are too many pairs or the budget is spent.
func (f *finder) spent() bool { return f.attempts > maxPairs || f.budget.spent() }
