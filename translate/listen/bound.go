package listen

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/ir"
)

// HostnameNotAllowed is the code of problems with hostnames that a namespace may not serve. It is also the
// reason in conditions, because the Gateway API has no such reason.
const HostnameNotAllowed = "HostnameNotAllowed"

// Bound is the set of hosts that a namespace may serve (tenancy.AnnotationHosts).
type Bound struct {
	Namespace manifest.Key
	// Hosts contains every host if there is no annotation, and no host if the annotation is invalid.
	Hosts ir.Hosts
}

// String returns, as text for messages, which hosts the namespace may serve. If the annotation is invalid, the
// text says that it must be fixed.
func (b Bound) String() string {
	if b.Hosts.None() {
		return fmt.Sprintf("%s is invalid, and its namespace serves no host until it is fixed", b.Namespace)
	}
	return fmt.Sprintf("%s may serve %s", b.Namespace, b.Hosts)
}

// Hint returns what to do about a host that the namespace may not serve: add the host to the annotation. If the
// parameter first is not "", the hint begins with that text, as the choice to prefer. If the annotation is invalid,
// the hint is only that the Namespace must be fixed.
func (b Bound) Hint(first string) string {
	if b.Hosts.None() {
		return "fix the Namespace"
	}
	hint := fmt.Sprintf("add the hostname to the annotation %s of %s", tenancy.AnnotationHosts, b.Namespace)
	if first == "" {
		return hint
	}
	return first + "; or " + hint
}

// Cause returns the annotation that limits the hosts, as a field of the Namespace. Problems show it as their
// cause.
func (b Bound) Cause() manifest.Field {
	return manifest.Field{Object: b.Namespace, Path: "metadata.annotations[" + tenancy.AnnotationHosts + "]"}
}

// NoHost returns the Attachment of a route that attaches to no listener, because the namespace of the route may
// not serve any of the route's hosts.
func (b Bound) NoHost() Attachment {
	return notAttached(HostnameNotAllowed, "the route serves no host: "+b.String(), b.Hint(""))
}

// checkHostname rejects and reports a listener with a hostname that its namespace may not serve. A listener without
// a hostname is rejected if the namespace may not serve every host. checkHostname ignores TCP and UDP listeners, to
// which a hostname does not apply, and listeners that are already rejected.
func (r *specReader) checkHostname(field string, l *Listener) {
	named := l.SpeaksHTTP() || l.Protocol == gwv1.TLSProtocolType
	if !named || !l.Accepted.Good() || Covers(r.bound.Hosts, domain(l.Hostname)) {
		return
	}
	message := fmt.Sprintf("the listener does not serve %s: %s", l.Hostname, r.bound)
	if l.Hostname == "" {
		message = fmt.Sprintf("the listener has no hostname, and does not serve every host: %s", r.bound)
	}
	l.Accepted = manifest.Because[gwv1.ListenerConditionReason](HostnameNotAllowed, message)
	r.problemOf(l, HostnameNotAllowed, field+".hostname", message, r.bound.Hint("write a listener for each of them, with its hostname"))
	r.Problems[len(r.Problems)-1].Cause = r.bound.Cause()
}
