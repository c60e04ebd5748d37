package differ

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/ir"
)

// shares compares how often the targets of rules are chosen, and how often copies are
// sent, with what explain says: only many requests together show it.
type shares struct {
	targets map[target]*share
	// copies are how many of 1 copies each request must have, by id.
	copies map[string]float64
}

// target is what can answer by a rule: a backend, or a status in place of one.
type target struct {
	rule   *ir.Rule
	answer string
}

// share is how often a target answered, and was to answer.
type share struct{ got, want, variance float64 }

func newShares() *shares { return &shares{targets: map[target]*share{}, copies: map[string]float64{}} }

// note counts an exchange in which explain and Envoy agree.
func (s *shares) note(x *exchange) {
	answers := x.shares()
	if _, chosen := answers[x.envoy()]; !chosen {
		return // what the answer does not know happened
	}
	if x.own() != nil {
		for _, m := range x.rule.Action.Mirrors {
			s.copies[x.question.id] += float64(m.Numerator) / float64(m.Denominator)
		}
	}
	if len(answers) < 2 {
		return
	}
	for answer, percent := range answers {
		at := target{x.rule, answer}
		if s.targets[at] == nil {
			s.targets[at] = &share{}
		}
		p := percent / 100
		s.targets[at].want += p
		s.targets[at].variance += p * (1 - p)
	}
	s.targets[target{x.rule, x.envoy()}].got++
}

// check fails where a target has far more or fewer requests than its share, or where
// copies are missing.
func (s *shares) check(t *testing.T, backends *recorder) {
	t.Helper()
	const deviations = 6 // once in a thousand million
	for at, share := range s.targets {
		if math.Abs(share.got-share.want) > deviations*math.Sqrt(share.variance)+1 {
			t.Errorf("rule %s: %s answered %.0f times, explain says %.1f", at.rule.Name, at.answer, share.got, share.want)
		}
	}
	var want, variance float64
	for id, share := range s.copies {
		want, variance = want+share, variance+share*(1-share)
		if share == 0 && len(backends.copies(id)) > 0 {
			t.Errorf("%s: %d copies of 0 percent", id, len(backends.copies(id)))
		}
	}
	all := func() (n float64) {
		for id := range s.copies {
			n += float64(len(backends.copies(id)))
		}
		return n
	}
	// A copy comes after the answer.
	least := want - deviations*math.Sqrt(variance) - 1
	envoytest.Wait(t, fmt.Sprintf("%.1f copies for mirrors", least), func() error {
		if got := all(); got < least {
			return fmt.Errorf("%.0f copies", got)
		}
		return nil
	})
	for _, id := range slices.Sorted(maps.Keys(s.copies)) {
		if s.copies[id] == 1 {
			envoytest.Wait(t, "the copy of "+id, func() error {
				if len(backends.copies(id)) != 1 {
					return fmt.Errorf("%d copies", len(backends.copies(id)))
				}
				return nil
			})
		}
	}
	if got := all(); got > want+deviations*math.Sqrt(variance)+1 {
		t.Errorf("mirrors got %.0f copies, explain says %.1f", got, want)
	}
	t.Logf("%d targets with shares, %d requests with copies", len(s.targets), len(s.copies))
}

// copies are those of a request that the mirror received.
func (r *recorder) copies(id string) []*received {
	return slices.DeleteFunc(slices.Clone(r.take(id)), func(one *received) bool { return one.Backend != "mirror" })
}
