package delta

import (
	"slices"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// gate delays listeners and routes until the clusters that they need are answered.
type gate struct {
	*stream
	// barrier has the rejected clusters without an older form, by name, and when each was sent.
	barrier map[string]time.Time
	// waived is the end of the last wait. Clusters that were sent before it are not waited for.
	waived time.Time
	// blocked is the time since which listeners or routes wait. It is zero if none waits.
	blocked time.Time
}

// until returns the time until which listeners and routes wait, zero if they may be sent. Envoy
// sends the CDS ACK only after every cluster is warm, and a resolver that does not answer delays
// that for a minute. So nothing waits longer than Options.Wait for a cluster, however often
// clusters change.
//
// A rejected cluster without an older form is waited for in the same way: an edit that fixes it in
// time prevents that its routes are sent too early. After that time listeners and routes are sent.
// Only routes that name the cluster fail then, while waiting longer would delay all other edits.
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

// unsettled returns when the last of the clusters was sent that others wait for, zero if there is
// none. A removal is waited for if an edit wants the resource back, because it cannot be sent again
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

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// bar updates the set of clusters that listeners and routes wait for, after an answer.
func (g *gate) bar(l *ledger, r *Response, nack bool) {
	for _, e := range r.Set {
		switch {
		case l.usable(e.Name):
			delete(g.barrier, e.Name)
		case nack && r.at.After(g.waived):
			g.barrier[e.Name] = r.at
		}
	}
}

// usable reports whether routes to a cluster work: Envoy has accepted a form of it, even an older
// one, and no answer is pending.
func (l *ledger) usable(name string) bool {
	_, again := l.alone[name]
	return l.held.has(name) && !again
}
