package listen

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/ir"
)

// HostnameNotAllowed is the code of problems with hostnames that a namespace may not serve, and
// the reason in conditions. The Gateway API has no reason for it.
const HostnameNotAllowed = "HostnameNotAllowed"

// Bound is the set of hosts that a namespace may serve (tenancy.AnnotationHosts).
type Bound struct {
	Namespace manifest.Key
	// Hosts is every host without the annotation, and empty if the annotation is invalid.
	Hosts ir.Hosts
}

// String returns the hosts that the namespace may serve, as text.
func (b Bound) String() string {
	if b.Hosts.None() {
		return fmt.Sprintf("%s is invalid, and its namespace serves no host until it is fixed", b.Namespace)
	}
	return fmt.Sprintf("%s may serve %s", b.Namespace, b.Hosts)
}

// Hint returns what to do: first, if it is not empty, or change the bound. If the bound cannot be
// read, it is to fix the Namespace.
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

// Cause returns the field with the bound.
func (b Bound) Cause() manifest.Field {
	return manifest.Field{Object: b.Namespace, Path: "metadata.annotations[" + tenancy.AnnotationHosts + "]"}
}

// NoHost returns the attachment of a route without any host that its namespace may serve.
func (b Bound) NoHost() Attachment {
	return notAttached(HostnameNotAllowed, "the route serves no host: "+b.String(), b.Hint(""))
}

// checkHostname rejects a listener with a hostname that its namespace may not serve. For protocols
// without hostnames, only ports are limited.
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
