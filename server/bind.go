package server

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/translate/xds"
)

// maxBindRetry is the longest wait before a listener whose bind failed is sent
// again.
const maxBindRetry = 30 * time.Second

// bindFailed tells from Envoy's words that it could not bind a listener's
// address (docs/design/envoy.md#nacks), or that another listener of its own has it.
// Unlike other rejections that one can end without an edit: the port becomes free, the
// address appears, or the other listener, too, is about to move.
func bindFailed(words string) bool {
	return strings.Contains(words, "cannot bind") || strings.Contains(words, "has duplicate address")
}

// cannotBind returns the listeners whose address could not be bound: nothing asks for
// their tables then, which begin with the name of the listener (listen.RoutesName).
func (p *plan) cannotBind() map[string]struct{} {
	l, out := p.ledgers[xds.ListenerType], map[string]struct{}{}
	if l == nil {
		return out
	}
	for name, r := range l.rejected.of {
		if bindFailed(r.words) {
			out[name] = struct{}{}
		}
	}
	return out
}

// unbound holds by Envoy listener what Envoys said that could not bind its address.
type unbound map[string][]string

// all returns what they said, in no order.
func (u unbound) all() []string {
	return slices.Concat(slices.Collect(maps.Values(u))...)
}

// words sums up what they said of each of these listeners, or said before; nil when
// there is none.
func (u unbound) words(of map[string]int, before map[string]string) map[string]string {
	var out map[string]string
	for name := range of {
		if out == nil {
			out = map[string]string{}
		}
		out[name] = cmp.Or(sumUp(u[name]), before[name])
	}
	return out
}

// of is the verdict on a listener of an object, "" for the object itself: an address
// that cannot be bound is the fault of the listeners there, and of who has them
// (Gateway API, GatewayReasonAddressNotUsable). The listener has the words and the remedy;
// the object names its listeners.
func (v verdict) of(o object, listener string) verdict {
	var names []string
	for name, envoy := range o.envoy {
		if v.unbound[envoy] != "" && (listener == "" || listener == name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return v
	}
	slices.Sort(names)
	out := verdict{status: metav1.ConditionFalse, reason: string(gwv1.ListenerReasonPortUnavailable)}
	if listener != "" {
		words := v.unbound[o.envoy[listener]]
		out.message = words + "; " + bindRemedy(words, o.portField(listener))
		return out
	}
	if _, isGateway := o.status.(*gwv1.GatewayStatus); isGateway {
		out.reason = string(gwv1.GatewayReasonAddressNotUsable)
	}
	out.message = fmt.Sprintf("%d of %d listeners cannot be bound: %s", len(names), len(o.envoy), strings.Join(names, ", "))
	return out
}

// portField is the field that has the port of a listener.
func (o object) portField(listener string) string {
	var listeners []string
	switch s := o.status.(type) {
	case *gwv1.GatewayStatus:
		for _, l := range s.Listeners {
			listeners = append(listeners, string(l.Name))
		}
	case *gwv1.ListenerSetStatus:
		for _, l := range s.Listeners {
			listeners = append(listeners, string(l.Name))
		}
	}
	if i := slices.Index(listeners, listener); i >= 0 {
		return fmt.Sprintf("spec.listeners[%d].port", i)
	}
	return "the port"
}

// The parts of Envoy's words about an address that it cannot bind (docs/design/envoy.md#nacks).
const (
	bindBegin = "cannot bind '"
	portInUse = "Address already in use"
)

// bindWords says what keeps an Envoy from listening, with Envoy's own reason.
func bindWords(node, words string) string {
	_, rest, found := strings.Cut(words, bindBegin)
	address, reason, told := strings.Cut(rest, "': ")
	if !found || !told {
		return fmt.Sprintf("Envoy %q rejected the listener: %s", node, words)
	}
	envoys := fmt.Sprintf("Envoy %q cannot bind %s: %s", node, address, reason)
	if _, port, err := net.SplitHostPort(address); err == nil && strings.Contains(reason, portInUse) {
		return fmt.Sprintf("port %s is in use by another program (%s)", port, envoys)
	}
	return envoys
}

// bindRemedy says what to do about bindWords, or Envoy's words.
func bindRemedy(words, field string) string {
	const again = "gatefold tries again every 30s at the latest"
	switch {
	case strings.Contains(words, portInUse):
		return "free it or change " + field + "; " + again
	case strings.Contains(words, "Permission denied"):
		return "ports below 1024 need the capability CAP_NET_BIND_SERVICE: AmbientCapabilities= in the systemd unit," +
			" or setcap cap_net_bind_service=ep on Envoy's binary; or lower the sysctl net.ipv4.ip_unprivileged_port_start; " + again
	}
	return "change the address or " + field + "; " + again
}

// rebind makes the listeners due again whose bind failed a while ago, because
// Envoy tries only when it is sent one; it gives when the next will be due, zero
// for never. The wait doubles from bindRetry with every failure. Each goes
// alone, so that Envoy's words are about it.
func (p *plan) rebind(now time.Time) time.Time {
	l := p.ledgers[xds.ListenerType]
	if l == nil {
		return time.Time{}
	}
	var next time.Time
	for _, name := range slices.Sorted(maps.Keys(l.rejected.of)) {
		r := l.rejected.of[name]
		if l.inFlight(name) != nil || r.again || !bindFailed(r.words) {
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
