package delta

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// maxBindRetry is the longest wait before a listener whose bind failed is sent again.
const maxBindRetry = 30 * time.Second

// BindFailed reports whether Envoy's error says that it could not bind a listener's address
// (docs/design/envoy.md#nacks), or that another listener has the address. Such a rejection can end without an
// edit: the port becomes free, the address appears, or the other listener moves.
func BindFailed(words string) bool {
	return strings.Contains(words, "cannot bind") || duplicate(words)
}

// duplicate reports whether Envoy's error says that another listener has the address.
func duplicate(words string) bool { return strings.Contains(words, "has duplicate address") }

// Unbound returns the names of the listeners whose address Envoy could not bind. Envoy does not request the
// route tables of such a listener; the tables' names begin with the name of the listener (listen.RoutesName).
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

// rebind marks listeners to be sent again after Envoy could not bind their address, because Envoy tries to bind
// only when it gets a listener again. Each such listener is sent alone, so that Envoy's error is about it. The
// wait doubles from Options.BindRetry to maxBindRetry. A listener is not sent again if Envoy serves its older form
// instead (OlderServed).
//
// Some listeners in ledger.unmoved wait a short time for an address that should be free soon. rebind marks them, too,
// when this time is over. It returns the time at which the next wait ends; zero if none is planned.
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
			l.look(name)
		} else {
			next = earlierNonZero(next, r.at)
		}
		l.rejected.of[name] = r // changes of a retry's time do not count as an edit
	}
	return next
}

// backoff returns the wait before the next retry. first is the wait after the first failure; each further
// failure in a row doubles the wait, up to maxBindRetry. failures is the number of failures so far, at least 1.
func backoff(first time.Duration, failures int) time.Duration {
	wait := first
	for i := 1; i < failures && wait < maxBindRetry; i++ {
		wait *= 2
	}
	return min(wait, maxBindRetry)
}

// earlierNonZero returns the earlier of two times. The zero time means never: the result is zero only if both are.
func earlierNonZero(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
