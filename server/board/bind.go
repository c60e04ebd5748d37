package board

import (
	"fmt"
	"net"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// of returns the content of the condition Programmed of one listener of the object o. If the parameter listener is
// "", the condition is the one of o itself. The listener cannot be bound if v.Unbound has an error for it. If the
// listener can be bound (for o itself: if all listeners of o can be bound), the content is v, unchanged.
//
// Otherwise the status is False. The reason is AddressNotUsable for a Gateway, and PortUnavailable for a ListenerSet
// or a listener. The message for a listener has Envoy's error and what to do. The message for o itself names the
// listeners of o that cannot be bound.
func (v Verdict) of(o object, listener string) Verdict {
	var names []string
	for name, envoy := range o.envoy {
		if v.Unbound[envoy] != "" && (listener == "" || listener == name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return v
	}
	slices.Sort(names)
	out := Verdict{Status: metav1.ConditionFalse, Reason: string(gwv1.ListenerReasonPortUnavailable)}
	if listener != "" {
		words := v.Unbound[o.envoy[listener]]
		out.Message = words + "; " + BindRemedy(words, o.portField(listener))
		return out
	}
	if _, isGateway := o.status.(*gwv1.GatewayStatus); isGateway {
		out.Reason = string(gwv1.GatewayReasonAddressNotUsable)
	}
	out.Message = fmt.Sprintf("%d of %d listeners cannot be bound: %s", len(names), len(o.envoy), strings.Join(names, ", "))
	return out
}

// portField returns the path of the field with the port of a listener. It returns "the port" if the status has
// no such listener.
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

// Texts in Envoy's error about an address that it cannot bind (docs/design/envoy.md#nacks).
const (
	bindBegin = "cannot bind '"
	portInUse = "Address already in use"
	noAddress = "Cannot assign requested address"
	// olderServed follows Envoy's error if the older form of the listener is served (delta.OlderServed).
	olderServed = "; its older form is served"
)

// BindWords returns a text that says why an Envoy cannot listen. The parameter node is the name of the Envoy, and
// words is Envoy's error. The text has the address and the reason from this error, or the whole error if its form is
// unknown.
func BindWords(node, words string) string {
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

// BindRemedy returns what a user can do if an Envoy cannot bind an address. The parameter words is the result of
// BindWords, or Envoy's error. The parameter field is the path of the field with the port.
func BindRemedy(words, field string) string {
	const again = "gatefold tries again every 30s at the latest"
	switch {
	case strings.Contains(words, olderServed):
		return "free it and run `gatefold reload`, or change " + field
	case strings.Contains(words, portInUse):
		return "free it or change " + field + "; " + again
	case strings.Contains(words, noAddress):
		return "no interface of this machine has the address: correct spec.addresses of the Gateway, or --bind, or give the address to an interface; " + again
	case strings.Contains(words, "Permission denied"):
		return "ports below 1024 need the capability CAP_NET_BIND_SERVICE: AmbientCapabilities= in the systemd unit," +
			" or setcap cap_net_bind_service=ep on Envoy's binary; or lower the sysctl net.ipv4.ip_unprivileged_port_start; " + again
	}
	return "change the address or " + field + "; " + again
}
