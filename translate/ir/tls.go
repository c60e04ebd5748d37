package ir

import (
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Secure reports whether the port speaks TLS.
func (p *Port) Secure() bool { return len(p.Chains) > 0 && p.Chains[0].TLS != nil }

// Scheme is that of its URLs: http or https; tcp, udp or tls where nothing but
// streams is served.
func (p *Port) Scheme() string {
	switch {
	case p.UDP:
		return "udp"
	case p.Secure():
		return "https"
	case len(p.Streams) > 0 && p.Streams[0].Domains != nil:
		return "tls"
	case len(p.Streams) > 0:
		return "tcp"
	}
	return "http"
}

// TLS is how a chain ends TLS.
type TLS struct {
	// Certificates are names of Secrets on the wire, never empty. A client gets
	// the first that fits what it asked for.
	Certificates []string
	// Version13 refuses clients that speak TLS 1.2 at most.
	Version13 bool
	// ALPN are the protocols to offer, in order.
	ALPN []string
	// Clients is nil where clients need no certificate.
	Clients *Clients
}

// Clients is how clients prove who they are by a certificate.
type Clients struct {
	// Trust names the certificates of authorities on the wire, of which one must have
	// signed the client's.
	Trust string
	// Insecure lets those in, too, who have none or another.
	Insecure bool
}

// SecretName names a Secret on the wire.
func SecretName(key manifest.Key) string { return "Secret/" + key.Namespace + "/" + key.Name }

// Certificate is what may be shown of a certificate in use.
type Certificate struct {
	Secret manifest.Key
	// Sum begins the hex SHA-256 of the certificate.
	Sum string
	// Names are the DNS names and IP addresses that it is for.
	Names               []string
	NotBefore, NotAfter time.Time
}

// Authorities is what may be shown of the certificates of authorities in one object.
type Authorities struct {
	Object manifest.Key
	// NotAfter is when the last of them ends.
	NotAfter time.Time
}

// UpstreamTLS is how Envoy speaks TLS to the endpoints of a Cluster.
type UpstreamTLS struct {
	// Policy is the BackendTLSPolicy that says so.
	Policy manifest.Key
	// Hostname is what the handshake asks for (SNI).
	Hostname string
	// Names are those of which the certificate of an endpoint must have one; never empty.
	Names []PeerName
	// Trust names the certificates of authorities on the wire, of which one must have
	// signed it.
	Trust string
	// Authorities are the objects that Trust is read from; none stands for those of the
	// system that Envoy runs on.
	Authorities []manifest.Key
	// Version13 refuses endpoints that speak TLS 1.2 at most.
	Version13 bool
	// Client is the Secret of the certificate that endpoints are shown, zero for none.
	Client manifest.Key
}

// PeerName is a name in a certificate (subject alternative name).
type PeerName struct {
	// URI is true if it is a URI and not a DNS name.
	URI bool
	// Value is in lower case for a DNS name; "*.example.com" is every name below.
	Value string
}
