package delta

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// gate delays listeners, filters and routes (referringTypes) until Envoy has answered the clusters that were sent
// before them, but for Options.Wait at most. So a route does not arrive before the cluster that it refers to.
type gate struct {
	*stream
	// barrier has the rejected clusters for which listeners and routes still wait, because Envoy cannot route to them
	// (see usable). An edit may fix such a cluster in time. The map has the time at which each cluster was sent.
	barrier map[string]time.Time
	// waived is the last time at which Options.Wait was over, and listeners and routes were sent without waiting any
	// longer. They never wait for clusters that were sent before this time.
	waived time.Time
	// blocked is the time since which listeners or routes wait. It is zero if none waits.
	blocked time.Time
}

// until returns the time until which listeners and routes wait for the answer to clusters; zero if they may be
// sent now. Envoy acknowledges clusters only after all of them are warm, which can take a minute if a resolver
// does not answer. So listeners and routes never wait longer than Options.Wait, however often clusters change.
// They also wait for a rejected cluster to which Envoy cannot route yet, as an edit may fix the cluster in time.
// After Options.Wait they are sent anyway: then only the routes to this cluster fail.
func (g *gate) until(now time.Time) time.Time {
	last := g.unsettled()
	if last.IsZero() || !slices.ContainsFunc(referringTypes(), g.due) {
		g.blocked = time.Time{}
		return time.Time{}
	}
	if g.blocked.IsZero() {
		g.blocked = now
	}
	if g.blocked.Before(last) {
		last = g.blocked
	}
	if until := last.Add(g.options.Wait); now.Before(until) {
		return until
	}
	clear(g.barrier)
	g.waived, g.blocked = now, time.Time{}
	return time.Time{}
}

// unsettled finds what listeners and routes wait for. It returns the time at which the newest of these was sent, or
// zero if they wait for nothing. They wait for:
//   - the rejected clusters in g.barrier
//   - each unanswered response with clusters that was sent after g.waived
//   - each unanswered response that only removes clusters and was sent after g.waived, but only while a cluster
//     of an unanswered response changed. That cluster is sent after the answer, and a route may need it: for example, a
//     removed cluster that is used again.
func (g *gate) unsettled() (last time.Time) {
	for _, at := range g.barrier {
		last = latest(last, at)
	}
	if l := g.ledgers[xds.ClusterType]; l != nil {
		for _, r := range l.flight {
			if (len(r.Set) > 0 || l.changesInFlight()) && r.at.After(g.waived) {
				last = latest(last, r.at)
			}
		}
	}
	return last
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// updateBarrier updates g.barrier after Envoy's answer to r, a response with clusters. The parameter nack is true if
// the answer is a rejection.
//   - A cluster of r to which Envoy can route now is removed from g.barrier.
//   - Any other cluster of r is added after a rejection, unless r was sent before the time g.waived.
func (g *gate) updateBarrier(l *ledger, r *Response, nack bool) {
	for _, e := range r.Set {
		switch {
		case l.usable(e.Name):
			delete(g.barrier, e.Name)
		case nack && r.at.After(g.waived):
			g.barrier[e.Name] = r.at
		}
	}
}

// usable reports whether Envoy can route to a cluster. Envoy can if it accepted any version of the cluster, even an
// older one. A cluster in l.alone is never usable: it must be sent again, in a response of its own.
func (l *ledger) usable(name string) bool {
	_, again := l.alone[name]
	return l.held.has(name) && !again
}
