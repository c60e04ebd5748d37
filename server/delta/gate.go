package delta

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// gate delays listeners and routes until Envoy has answered the clusters that were sent before them, but for
// Options.Wait at most. So a route does not arrive before the cluster that it refers to.
type gate struct {
	*stream
	// barrier has the rejected clusters without an older form, by name, and when each was sent.
	barrier map[string]time.Time
	// waived is when Options.Wait was over last. Clusters that were sent before it are not waited for.
	waived time.Time
	// blocked is the time since which listeners or routes wait. It is zero if none waits.
	blocked time.Time
}

// until returns the time until which listeners and routes wait for clusters; zero if they may be sent now.
// Envoy acknowledges clusters only after all of them are warm, which can take a minute if a resolver does not
// answer. So nothing waits longer than Options.Wait, however often clusters change.
//
// A rejected cluster without an older form is waited for in the same way. If an edit fixes the cluster in time,
// its routes are not sent too early. After that time, listeners and routes are sent anyway. Only the routes to
// this cluster fail then, while a longer wait would delay all other edits.
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

// unsettled returns when the newest cluster was sent that listeners and routes wait for. They wait for clusters
// without an answer that were sent after g.waived, and for those in g.barrier. unsettled returns zero if there
// are none. A cluster that is being removed also counts if an edit needs it again, because it cannot be sent
// before the answer.
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

// updateBarrier is called after the answer to r, which has clusters. It removes from g.barrier the clusters
// that Envoy can route to now. If Envoy rejected r (nack), it adds the other clusters of r, so that listeners
// and routes wait for them, unless r was sent before g.waived.
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

// usable reports whether Envoy can route to a cluster: it accepted some form of the cluster, even an older one,
// and the cluster does not have to be sent again alone.
func (l *ledger) usable(name string) bool {
	_, again := l.alone[name]
	return l.held.has(name) && !again
}
