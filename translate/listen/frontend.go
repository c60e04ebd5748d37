package listen

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// References resolves the references of a Gateway: Certificate resolves a reference to a Secret, Authority a
// reference to CA certificates.
type References struct {
	// Bound is the set of hosts that the Gateway's namespace may serve.
	Bound       Bound
	Certificate func(gwv1.SecretObjectReference) Certificate
	Authority   func(gwv1.ObjectReference) Authority
}

// validation says how client certificates are verified on one or more listeners. Its verdicts accepted and
// resolved are added to the conditions Accepted and ResolvedRefs of these listeners.
type validation struct {
	clients            *ir.Clients // nil if certificates are not verified, or if no CA certificate can be used
	accepted, resolved manifest.Verdict[gwv1.ListenerConditionReason]
}

// frontend is a Gateway's spec.tls.frontend: how its listeners verify client certificates. The field ports has the
// validation of each port with a configuration of its own (perPort). The listeners on all other ports use the
// field standard.
type frontend struct {
	ports    map[int32]validation
	standard validation
}

// readFrontend sets r.frontend from spec.tls.frontend. If spec.tls.frontend is unset, r.frontend stays nil.
func (r *specReader) readFrontend(from *gwv1.GatewayTLSConfig, follow References) {
	if from == nil || from.Frontend == nil {
		return
	}
	r.frontend = &frontend{ports: map[int32]validation{}}
	for i, port := range from.Frontend.PerPort {
		r.frontend.ports[port.Port] = r.validation(fmt.Sprintf("spec.tls.frontend.perPort[%d].tls.validation", i), port.TLS.Validation, follow)
	}
	r.frontend.standard = r.validation("spec.tls.frontend.default.validation", from.Frontend.Default.Validation, follow)
}

// ask writes into each listener that terminates TLS how it asks for client certificates and verifies them. It also
// updates the conditions Resolved and Accepted of the listener. A port's own configuration replaces the default
// (Gateway API, FrontendTLSConfig). If f is nil, ask changes nothing.
func (f *frontend) ask(listeners []*Listener) {
	if f == nil {
		return
	}
	for _, l := range listeners {
		v := f.of(l.Port)
		if l.terminate() == nil {
			continue
		}
		l.TLS.Clients = v.clients
		l.Resolved = l.Resolved.And(v.resolved)
		if l.Accepted.Good() {
			l.Accepted = v.accepted
		}
	}
}

// of returns the validation of a port.
func (f *frontend) of(port int32) validation {
	if v, own := f.ports[port]; own {
		return v
	}
	return f.standard
}

// Clients returns how the HTTPS listeners on a port verify client certificates. It returns nil if they do not, or if
// no CA certificate can be used.
func (g *Gateway) Clients(port int32) *ir.Clients {
	if g.frontend == nil {
		return nil
	}
	return g.frontend.of(port).clients
}

// validation returns how client certificates are verified by one configuration (from), and reports references to
// CA certificates that cannot be used. If no reference can be used, the listeners are not accepted. If the
// configuration accepts clients without a valid certificate, validation sets r.Insecure. If from is nil, the
// result is the zero validation, which verifies no certificate.
func (r *specReader) validation(field string, from *gwv1.FrontendTLSValidation, follow References) (v validation) {
	if from == nil {
		return v
	}
	insecure := from.Mode == gwv1.AllowInsecureFallback
	r.Insecure = r.Insecure || insecure
	var found []manifest.Key
	for i, ref := range from.CACertificateRefs {
		a := follow.Authority(ref)
		switch {
		case !a.Usable.Good():
			r.problem(string(a.Usable.Reason), fmt.Sprintf("%s.caCertificateRefs[%d]", field, i), a.Usable.Message, a.Hint)
			v.resolved = v.resolved.And(a.Usable)
		case !slices.Contains(found, a.Object):
			found = append(found, a.Object)
		}
	}
	if len(found) == 0 {
		v.accepted = manifest.Because(gwv1.ListenerReasonNoValidCACertificate, v.resolved.Message)
		return v
	}
	v.clients = &ir.Clients{Trust: TrustName(found), Insecure: insecure}
	return v
}

// readClient sets r.Client to the certificate that the Gateway presents to backends. It reports a certificate
// that cannot be used. Without a reference to a certificate, r.Client stays nil.
func (r *specReader) readClient(from *gwv1.GatewayTLSConfig, follow References) {
	if from == nil || from.Backend == nil || from.Backend.ClientCertificateRef == nil {
		return
	}
	c := follow.Certificate(*from.Backend.ClientCertificateRef)
	r.Client = &Client{Secret: c.Secret}
	if c.Usable.Good() {
		return
	}
	r.Client.Usable = manifest.Because(gwv1.GatewayReasonInvalidClientCertificateRef, c.Usable.Message)
	if c.Usable.Reason == gwv1.ListenerReasonRefNotPermitted {
		r.Client.Usable.Reason = gwv1.GatewayReasonRefNotPermitted
	}
	r.problem(string(r.Client.Usable.Reason), "spec.tls.backend.clientCertificateRef", c.Usable.Message, c.Hint+"; until then backends are shown none")
}

// Client is the certificate that a Gateway presents to backends.
type Client struct {
	Secret manifest.Key
	// Usable is zero if the certificate can be used. Otherwise it is the reason why not.
	Usable manifest.Verdict[gwv1.GatewayConditionReason]
}

// Shows returns the Secret with the certificate that the Gateway presents to backends. ok is false if it
// presents none, because spec.tls.backend names no certificate or an unusable one.
func (g *Gateway) Shows() (secret manifest.Key, ok bool) {
	if g.Client == nil || !g.Client.Usable.Good() {
		return manifest.Key{}, false
	}
	return g.Client.Secret, true
}
