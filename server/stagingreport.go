package server

import (
	"context"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// awaitReport asks the method run to judge the answers of the canaries in all fleets, and then to call the method
// report. awaitReport waits until run has done both. So everything that happened before the call of awaitReport is
// then reported. If ctx ends, awaitReport returns without waiting any longer.
func (s *staging) awaitReport(ctx context.Context) {
	done := make(chan struct{})
	select {
	case s.asked <- done:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// fleetOf returns the state of a fleet that is saved for the next start.
func (s *staging) fleetOf(c *scope) Fleet {
	fleet := Fleet{Gateway: c.name, Unpromoted: c.stage.verdict.state == frozen}
	// After a restart, waits returns true although the Envoys that are not canaries may have the current revision
	// already. The restart alone is not a change, so no requests must be counted for it.
	fleet.Uncounted = s.options.MaxErrors > 0 && c.stage.waits() && (!c.stage.withheld || c.stage.uncounted)
	if c.stage.failed != nil {
		fleet.Failed = *c.stage.failed
	}
	return fleet
}

// report sets the metric of frozen fleets. It calls Staging.Save if the fleets changed, and Staging.Problems if
// the problems of frozen fleets changed.
func (s *staging) report() {
	var problems []manifest.Problem
	fleets := []Fleet{}
	s.locked(func() {
		frozenFleets := 0
		for _, c := range s.verdicts.all() {
			if c.stage == nil {
				continue
			}
			fleet := s.fleetOf(c)
			fleets = append(fleets, fleet)
			if fleet.Unpromoted {
				frozenFleets++
				problems = append(problems, c.stage.verdict.asProblem())
			}
		}
		if s.metrics.SetFrozen(frozenFleets); frozenFleets == 0 {
			clear(s.sums) // its keys keep tables in memory that are no longer served
		}
	})
	manifest.SortProblems(problems)
	slices.SortFunc(fleets, func(a, b Fleet) int { return strings.Compare(a.Gateway, b.Gateway) })
	if s.options.Save != nil && !slices.Equal(fleets, s.saved) {
		s.saved = fleets
		s.options.Save(fleets)
	}
	if s.options.Problems != nil && !slices.Equal(problems, s.told) {
		s.told = problems
		s.options.Problems(problems)
	}
}
