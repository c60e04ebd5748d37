package delta

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// maxBindRetry is the longest wait before a listener whose bind failed is sent
// again.
const maxBindRetry = 30 * time.Second

// BindFailed reports whether Envoy's message says that it could not bind a listener's address
// (docs/design/envoy.md#nacks), or that another of its listeners has the address. Such a rejection
// can end without an edit: the port becomes free, the address appears, or the other listener is
// going to move.
func BindFailed(words string) bool {
	return strings.Contains(words, "cannot bind") || duplicate(words)
}

// duplicate reports whether Envoy's message says that another of its listeners has the address.
func duplicate(words string) bool { return strings.Contains(words, "has duplicate address") }

// Unbound returns the listeners whose address could not be bound. Envoy does not ask for their
// tables, whose names begin with the listener's (listen.RoutesName).
func (s *stream) Unbound() map[string]struct{} {
	l, out := s.ledgers[xds.ListenerType], map[string]struct{}{}
	if l == nil {
		return out
	}
	for name, r := range l.rejected.of {
		if BindFailed(r.words) {
			out[name] = struct{}{}
		}
	}
	return out
}

// rebind makes listeners due again after a failed bind, because Envoy tries only when it gets the
// listener again. It returns the time of the next one, zero for never. The wait begins with
// Options.BindRetry and doubles with every failure. Each listener goes alone, so that Envoy's
// message is about it.
func (m *moves) rebind(now time.Time) time.Time {
	l := m.ledgers[xds.ListenerType]
	if l == nil {
		return time.Time{}
	}
	next := l.retry(now)
	for _, name := range slices.Sorted(maps.Keys(l.rejected.of)) {
		r := l.rejected.of[name]
		if l.inFlight(name) != nil || r.again || !BindFailed(r.words) || strings.HasSuffix(r.words, OlderServed) {
			continue
		}
		if r.at.IsZero() {
			r.at = now.Add(backoff(m.options.BindRetry, r.times))
		}
		if r.again = !now.Before(r.at); r.again {
			l.alone[name] = struct{}{}
			l.due.push(name)
		} else {
			next = earlier(next, r.at)
		}
		l.rejected.of[name] = r // as rejected as before
	}
	return next
}

// backoff returns the wait after so many failures in a row, from 1.
func backoff(first time.Duration, failures int) time.Duration {
	wait := first
	for i := 1; i < failures && wait < maxBindRetry; i++ {
		wait *= 2
	}
	return min(wait, maxBindRetry)
}

// earlier returns the earlier time; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
