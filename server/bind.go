package server

import (
	"maps"
	"slices"
	"strings"
	"time"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// maxBindRetry is the longest wait before a listener whose bind failed is sent
// again.
const maxBindRetry = 30 * time.Second

// bindFailed tells from Envoy's words that it could not bind a listener's
// address (Envoy notes, section 8). Unlike other rejections that one can end
// without an edit: the port becomes free, or the address appears.
func bindFailed(words string) bool { return strings.Contains(words, "cannot bind") }

// bindHint says what to do where Envoy may not bind a port.
func bindHint(words string) string {
	if !bindFailed(words) || !strings.Contains(words, "Permission denied") {
		return ""
	}
	return " (ports below 1024 need the capability CAP_NET_BIND_SERVICE: AmbientCapabilities= in the systemd unit," +
		" or setcap cap_net_bind_service=ep on Envoy's binary; or lower the sysctl net.ipv4.ip_unprivileged_port_start)"
}

// rebind makes the listeners due again whose bind failed a while ago, because
// Envoy tries only when it is sent one; it gives when the next will be due, zero
// for never. The wait doubles from bindRetry with every failure. Each goes
// alone, so that Envoy's words are about it.
func (p *plan) rebind(now time.Time) time.Time {
	l := p.ledgers[resourcev3.ListenerType]
	if l == nil {
		return time.Time{}
	}
	var next time.Time
	for _, name := range slices.Sorted(maps.Keys(l.rejected)) {
		r := l.rejected[name]
		if _, busy := l.sent[name]; busy || r.again || !bindFailed(r.words) {
			continue
		}
		if r.at.IsZero() {
			r.at = now.Add(backoff(p.bindRetry, r.times))
		}
		if r.again = !now.Before(r.at); r.again {
			l.alone[name] = struct{}{}
			l.due.push(name)
		} else {
			next = earlier(next, r.at)
		}
		l.rejected[name] = r
	}
	return next
}

// backoff gives the wait after so many failures in a row, from 1.
func backoff(first time.Duration, failures int) time.Duration {
	wait := first
	for i := 1; i < failures && wait < maxBindRetry; i++ {
		wait *= 2
	}
	return min(wait, maxBindRetry)
}

// earlier gives the earlier time; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
