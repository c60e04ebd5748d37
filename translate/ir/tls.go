package ir

import (
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Secure reports whether the port uses TLS.
func (p *Port) Secure() bool { return len(p.Chains) > 0 && p.Chains[0].TLS != nil }

// MaxMisdirected is how many hostnames listeners with TLS may have on a port for the table of each to
// name those of all others. Each name costs Envoy 3 KiB in each table: 64 names, as many as one Gateway
// has listeners, cost 12 MiB in all; 1,000 would cost 3 GiB.
const MaxMisdirected = 64

// ManyTLSNames reports whether the port has more than MaxMisdirected hostnames with TLS.
func (p *Port) ManyTLSNames() bool {
	names, last := len(p.Chains), ""
	for i := range p.Streams { // those of a listener stand together
		if chain := p.Streams[i].Chain; chain != last {
			names, last = names+1, chain
		}
	}
	return names > MaxMisdirected
}

// Scheme returns the scheme of its URLs: http or https, or tcp, udp or tls if it only has
// streams.
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

// TLS configures how a chain terminates TLS.
type TLS struct {
	// Certificates are the xDS names of Secrets, never empty. Envoy sends the first that fits
	// the server name.
	Certificates []string
	// Version13 rejects clients without TLS 1.3.
	Version13 bool
	// ALPN are the protocols to offer, in order.
	ALPN []string
	// Clients is nil if clients need no certificate.
	Clients *Clients
}

// Clients configures how client certificates are verified.
type Clients struct {
	// Trust names the CA certificates in xDS, one of which must have signed the client's
	// certificate.
	Trust string
	// Insecure accepts clients without a certificate or with another one, too.
	Insecure bool
}

// SecretName returns the xDS name of a Secret.
func SecretName(key manifest.Key) string { return "Secret/" + key.Namespace + "/" + key.Name }

// Certificate is the public information about a certificate in use.
type Certificate struct {
	Secret manifest.Key
	// Sum is the beginning of the certificate's SHA-256 in hex.
	Sum string
	// Names are the DNS names and IP addresses that it is for.
	Names               []string
	NotBefore, NotAfter time.Time
}

// Authorities is the public information about the CA certificates of one object.
type Authorities struct {
	Object manifest.Key
	// NotAfter is when the last of them expires.
	NotAfter time.Time
}

// UpstreamTLS configures TLS between Envoy and the endpoints of a Cluster.
type UpstreamTLS struct {
	// Policy is the BackendTLSPolicy that configures it.
	Policy manifest.Key
	// Hostname is the server name in the handshake (SNI).
	Hostname string
	// Names are the accepted names: the certificate of an endpoint must have one. Never empty.
	Names []PeerName
	// Trust names the CA certificates in xDS, one of which must have signed the endpoint's
	// certificate.
	Trust string
	// Authorities are the objects that Trust is read from; none for the CA certificates of
	// Envoy's system.
	Authorities []manifest.Key
	// Version13 rejects endpoints without TLS 1.3.
	Version13 bool
	// Client is the Secret with the certificate that Envoy shows to endpoints, zero for none.
	Client manifest.Key
}

// PeerName is a name in a certificate (subject alternative name).
type PeerName struct {
	// URI is true if it is a URI and not a DNS name.
	URI bool
	// Value is in lower case for a DNS name; "*.example.com" matches every name below.
	Value string
}
