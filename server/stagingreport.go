package server

import (
	"context"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// awaitReport waits until run has judged and reported what has happened so far, or until ctx ends.
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

// fleetOf returns what the next process is to know of a fleet.
func (s *staging) fleetOf(c *scope) Fleet {
	fleet := Fleet{Gateway: c.name, Unpromoted: c.stage.verdict.state == frozen}
	// A start alone, in which the others are withheld what they may well have, is no revision to count.
	fleet.Uncounted = s.options.MaxErrors > 0 && c.stage.waits() && (!c.stage.withheld || c.stage.uncounted)
	if c.stage.failed != nil {
		fleet.Failed = *c.stage.failed
	}
	return fleet
}

// report hands on what is new of frozen fleets, and what the next process is to know.
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
			clear(s.sums) // they keep tables that are no longer served
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
