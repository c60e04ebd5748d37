package listen

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/ir"
)

// HostnameNotAllowed is the code of problems about hostnames that a namespace may not
// serve, and the reason in conditions; the Gateway API names none for it.
const HostnameNotAllowed = "HostnameNotAllowed"

// Bound is what hosts a namespace may serve (tenancy.AnnotationHosts).
type Bound struct {
	Namespace manifest.Key
	// Hosts are every host without the annotation, and none where it cannot be read.
	Hosts ir.Hosts
}

// String says what the namespace may serve.
func (b Bound) String() string {
	if b.Hosts.None() {
		return fmt.Sprintf("%s is invalid, and its namespace serves no host until it is fixed", b.Namespace)
	}
	return fmt.Sprintf("%s may serve %s", b.Namespace, b.Hosts)
}

// Hint says what to do: what is given, or else to change the bound.
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

// Cause is where the bound is written.
func (b Bound) Cause() manifest.Field {
	return manifest.Field{Object: b.Namespace, Path: "metadata.annotations[" + tenancy.AnnotationHosts + "]"}
}

// NoHost is the attachment of a route of which the bound of its namespace leaves nothing.
func (b Bound) NoHost() Attachment {
	return refuse(HostnameNotAllowed, "the route serves no host: "+b.String(), b.Hint(""))
}

// judgeHostname refuses a listener with a hostname that its namespace may not serve.
// Listeners of protocols without hostnames are bounded by their ports alone.
func (g *Gateway) judgeHostname(field string, l *Listener) {
	named := l.speaksHTTP() || l.Protocol == gwv1.TLSProtocolType
	if !named || !l.Accepted.Good() || Covers(g.bound.Hosts, domain(l.Hostname)) {
		return
	}
	message := fmt.Sprintf("the listener does not serve %s: %s", l.Hostname, g.bound)
	if l.Hostname == "" {
		message = fmt.Sprintf("the listener has no hostname, and does not serve every host: %s", g.bound)
	}
	l.Accepted = manifest.Because[gwv1.ListenerConditionReason](HostnameNotAllowed, message)
	g.problemOf(l, HostnameNotAllowed, field+".hostname", message, g.bound.Hint("write a listener for each of them, with its hostname"))
	g.Problems[len(g.Problems)-1].Cause = g.bound.Cause()
}
