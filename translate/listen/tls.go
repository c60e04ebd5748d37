package listen

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

// Certificate is the result of resolving a reference to a certificate.
type Certificate struct {
	Secret manifest.Key
	// Usable is zero if the Secret can be used. Otherwise it is the reason why not, and Hint is what to do.
	Usable manifest.Verdict[gwv1.ListenerConditionReason]
	Hint   string
}

// The keys of TLS options. OptionVersion is the lowest TLS version, also for backends. optionALPN lists the
// ALPN protocols of a listener. The same keys with kgateway's prefix are accepted.
const (
	OptionVersion = "gatefold.io/min-tls-version"
	optionALPN    = "gatefold.io/alpn-protocols"
)

// readTLS sets the certificates and TLS options of a listener, and reports those that cannot be used. If only
// some certificates are usable, the listener is still served, and the condition ResolvedRefs has the reason for the
// first unusable one. If the listener names no certificate, readTLS reports that and reads no options.
func (r *specReader) readTLS(field string, l *Listener, from *gwv1.ListenerTLSConfig, certificate func(gwv1.SecretObjectReference) Certificate) {
	if l.SpeaksHTTP() { // for other protocols, client and backend negotiate the protocol
		l.TLS.ALPN = []string{"h2", "http/1.1"}
	}
	if from == nil || len(from.CertificateRefs) == 0 {
		r.unresolved(field+".certificateRefs", l, gwv1.ListenerReasonInvalidCertificateRef,
			"the listener names no certificate", "name a Secret of type kubernetes.io/tls")
		return
	}
	for i, ref := range from.CertificateRefs {
		c := certificate(ref)
		switch {
		case !c.Usable.Good():
			r.unresolved(fmt.Sprintf("%s.certificateRefs[%d]", field, i), l, c.Usable.Reason, c.Usable.Message, c.Hint)
		case !slices.Contains(l.Certificates, c.Secret):
			l.Certificates = append(l.Certificates, c.Secret)
		}
	}
	for _, option := range slices.Sorted(maps.Keys(from.Options)) {
		r.readOption(field, l, string(option), string(from.Options[option]))
	}
}

// unresolved reports a reference that cannot be used, or a missing one. It adds a problem, and sets l.Resolved if
// l.Resolved has no reason yet.
func (r *specReader) unresolved(field string, l *Listener, reason gwv1.ListenerConditionReason, message, hint string) {
	r.problem(string(reason), field, message, hint)
	if l.Resolved.Good() {
		l.Resolved = manifest.Because(reason, message)
	}
}

// readOption sets one TLS option of a listener. It rejects a listener with an unknown option or value: an
// option that should protect but has no effect is worse than a listener that is not served.
func (r *specReader) readOption(field string, l *Listener, name, value string) {
	message, hint := fmt.Sprintf("there is no option %s", name), fmt.Sprintf("the options are %s and %s", OptionVersion, optionALPN)
	switch strings.Replace(name, "kgateway.dev/", "gatefold.io/", 1) {
	case OptionVersion:
		if value == "1.2" || value == "1.3" {
			l.TLS.Version13 = value == "1.3"
			return
		}
		message, hint = fmt.Sprintf("%s is %q", name, value), "write 1.2 or 1.3"
	case optionALPN:
		protocols := strings.Split(value, ",")
		if !slices.ContainsFunc(protocols, func(p string) bool { return p != "h2" && p != "http/1.1" }) {
			l.TLS.ALPN = protocols
			return
		}
		message, hint = fmt.Sprintf("%s is %q", name, value), "write h2,http/1.1, or one of them"
	}
	code := string(gwv1.ListenerReasonUnsupportedValue)
	if instead, known := schema.OptionNotServed(name); known {
		code, message, hint = schema.NotServed, "kgateway has the option "+name+"; gatefold does not serve it", instead
	}
	r.problem(code, field+".options["+name+"]", message, hint)
	l.Accepted = manifest.Because(gwv1.ListenerReasonUnsupportedValue, message)
}

// Serving returns the listeners that are served. It returns an empty sequence for a nil Gateway.
func (g *Gateway) Serving() iter.Seq[*Listener] {
	return func(yield func(*Listener) bool) {
		if g == nil {
			return
		}
		for _, l := range g.Listeners {
			if l.Serves() && !yield(l) {
				return
			}
		}
	}
}

// endsTLS reports whether the listener terminates TLS.
func (l *Listener) endsTLS() bool {
	return l.Protocol == gwv1.HTTPSProtocolType || l.Protocol == gwv1.TLSProtocolType && !l.Passthrough
}

// SpeaksTLS reports whether a TLS handshake selects the listener. It is true for HTTPS and TLS, also if TLS is passed
// through.
func (l *Listener) SpeaksTLS() bool {
	return l.Protocol == gwv1.HTTPSProtocolType || l.Protocol == gwv1.TLSProtocolType
}

// Certified reports whether the listener needs no certificate, or has a usable one.
func (l *Listener) Certified() bool {
	return !l.endsTLS() || len(l.Certificates) > 0
}

// chain returns the name of the listener's filter chain: the server name that selects the listener in a TLS
// handshake, "*" for every name. It returns "" for a listener without TLS.
func (l *Listener) chain() string {
	if !l.SpeaksTLS() {
		return ""
	}
	return domain(l.Hostname)
}

// terminate returns how the listener terminates TLS. It returns nil if the listener does not terminate TLS.
func (l *Listener) terminate() *ir.TLS {
	if !l.endsTLS() {
		return nil
	}
	out := l.TLS
	for _, secret := range l.Certificates {
		out.Certificates = append(out.Certificates, ir.SecretName(secret))
	}
	return &out
}

// TLSNames are the hostnames by which a TLS handshake selects a listener of a port. HTTP/2 clients send
// requests for all hosts of a certificate over one connection. But each listener serves only its own hosts, and
// answers 421 for hosts of other listeners (Gateway API, ListenerTLSConfig and
// GatewayHTTPSListenerDetectMisdirectedRequests).
type TLSNames struct {
	names []string
	// under has the names by the wildcards that cover them (see the function under). It is nil if there are at
	// most ir.MaxMisdirected names.
	under map[string][]string
}

// TLSNames returns the TLSNames of a port. It returns nil if the port has no served listener with TLS.
func (g *Gateway) TLSNames(port int32) *TLSNames {
	out := &TLSNames{}
	for _, l := range g.Listeners {
		if l.Serves() && l.Port == port && l.chain() != "" {
			out.names = append(out.names, l.chain())
		}
	}
	if len(out.names) == 0 {
		return nil
	}
	slices.Sort(out.names)
	if len(out.names) > ir.MaxMisdirected {
		out.under = under(out.names)
	}
	return out
}

// under groups names by the wildcards that cover them. The result has a list of names for each wildcard that
// covers at least one name. For example, a.example.com is in the lists of *.example.com, *.com and *. A wildcard
// may be one of the names, but is not in its own list.
func under(names []string) map[string][]string {
	out := map[string][]string{}
	for _, name := range names {
		for wildcard := range scope.Wildcards(name) {
			out[wildcard] = append(out[wildcard], name)
		}
	}
	return out
}

// Same reports whether two TLSNames have the same names. Either may be nil; nil equals only nil.
func (n *TLSNames) Same(other *TLSNames) bool {
	return n == other || n != nil && other != nil && slices.Equal(n.names, other.names)
}

// Misdirected returns the hosts for which a filter chain answers 421, because other listeners serve them. The
// parameter chain is the hostname of the filter chain, or "*". The result depends on the number of names in n:
//   - If n is nil, the result is nil.
//   - If n has at most ir.MaxMisdirected names, the result has all names except chain.
//   - If n has more names, all of them would be too many virtual hosts for each filter chain. So the result has only
//     the names that the wildcard chain covers. If chain is not "*", the result also has "*", which stands for all
//     other hosts.
func (n *TLSNames) Misdirected(chain string) (hosts []string) {
	if n == nil {
		return nil
	}
	if n.under == nil {
		return slices.DeleteFunc(slices.Clone(n.names), func(name string) bool { return name == chain })
	}
	if chain != "*" {
		hosts = append(hosts, "*")
	}
	return append(hosts, n.under[chain]...)
}
