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
	// barrier has the rejected clusters to which Envoy cannot route yet (see usable), by name, and when each was
	// sent.
	barrier map[string]time.Time
	// waived is the last time at which listeners and routes were sent because Options.Wait was over. Clusters that
	// were sent before waived are not waited for.
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

// unsettled returns the latest time at which something was sent that listeners and routes still wait for. It returns
// zero if they wait for nothing. They wait for:
//   - the rejected clusters in g.barrier
//   - each unanswered response with clusters that was sent after g.waived
//   - each unanswered response that only removes clusters and was sent after g.waived, but only while ledger.again
//     is not empty: a cluster has changed since it was sent or removed, and is sent again only after the answer. It
//     may be a removed cluster that a route needs again.
func (g *gate) unsettled() (last time.Time) {
	for _, at := range g.barrier {
		last = latest(last, at)
	}
	if l := g.ledgers[xds.ClusterType]; l != nil {
		for _, r := range l.flight {
			if (len(r.Set) > 0 || len(l.again) > 0) && r.at.After(g.waived) {
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

// updateBarrier is called after Envoy's answer to r, a response with clusters. It removes from g.barrier (the
// clusters for which listeners and routes wait) the clusters of r to which Envoy can route now. After a
// rejection (nack is true), it adds the other clusters of r. It does not add them if r was sent before g.waived.
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
