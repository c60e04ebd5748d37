package ir

import (
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// Secure reports whether the port's HTTP filter chains use TLS.
func (p *Port) Secure() bool { return len(p.Chains) > 0 && p.Chains[0].TLS != nil }

// MaxMisdirected limits the size of the RouteConfigurations for hostnames with TLS. If a port has at most
// MaxMisdirected hostnames, each hostname's RouteConfiguration has a virtual host for every other hostname of the
// port, which answers 421. If the port has more, the RouteConfigurations do not list all hostnames (see
// listen.TLSNames.Misdirected).
//
// Each such virtual host costs Envoy 3 KiB. A Gateway object has at most 64 listeners. With 64 hostnames, the virtual
// hosts of all RouteConfigurations cost 12 MiB. With 1,000 hostnames, they would cost 3 GiB.
const MaxMisdirected = 64

// ManyTLSNames reports whether the port has more than MaxMisdirected hostnames with TLS, in Chains and Streams
// together.
func (p *Port) ManyTLSNames() bool {
	names, last := len(p.Chains), ""
	for i := range p.Streams { // Streams of one listener follow each other
		if chain := p.Streams[i].Chain; chain != last {
			names, last = names+1, chain
		}
	}
	return names > MaxMisdirected
}

// Scheme returns the URL scheme of the port: http or https, or tcp, udp or tls if the port has only Streams.
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
	// Certificates are the xDS names of Secrets. There is at least one. Envoy sends the first certificate that
	// matches the server name.
	Certificates []string
	// Version13 rejects clients without TLS 1.3.
	Version13 bool
	// ALPN are the protocols that Envoy offers, in order.
	ALPN []string
	// Clients configures the verification of client certificates. It is nil if clients need none.
	Clients *Clients
}

// Clients configures how client certificates are verified.
type Clients struct {
	// Trust is the xDS name of the CA certificates. The client's certificate must be signed by one of these CA
	// certificates.
	Trust string
	// Insecure also accepts clients without a certificate, or with a certificate that is not trusted.
	Insecure bool
}

// SecretName returns the xDS name of the Kubernetes Secret with the given key.
func SecretName(key manifest.Key) string { return "Secret/" + key.Namespace + "/" + key.Name }

// Certificate is the public information about a certificate in use.
type Certificate struct {
	Secret manifest.Key
	// Sum is the beginning of the certificate's SHA-256 in hex.
	Sum string
	// Names are the DNS names and IP addresses of the certificate.
	Names               []string
	NotBefore, NotAfter time.Time
}

// Authorities is the public information about the CA certificates of one object.
type Authorities struct {
	Object manifest.Key
	// NotAfter is when the last CA certificate expires.
	NotAfter time.Time
}

// UpstreamTLS configures TLS between Envoy and the endpoints of a Cluster.
type UpstreamTLS struct {
	// Policy is the BackendTLSPolicy that configures it.
	Policy manifest.Key
	// Hostname is the server name in the handshake (SNI).
	Hostname string
	// Names are the accepted names. There is at least one. The certificate of an endpoint must have one of the
	// accepted names.
	Names []PeerName
	// Trust is the xDS name of the CA certificates. The endpoint's certificate must be signed by one of these CA
	// certificates.
	Trust string
	// Authorities are the objects that Trust is read from. It is nil for the CA certificates of the system that
	// Envoy runs on.
	Authorities []manifest.Key
	// Version13 rejects endpoints without TLS 1.3.
	Version13 bool
	// Client is the Secret with the certificate that Envoy sends to endpoints. It is zero if there is none.
	Client manifest.Key
}

// PeerName is a name in a certificate (subject alternative name).
type PeerName struct {
	// URI is true if the name is a URI, and false if it is a DNS name.
	URI bool
	// Value is the name. A DNS name is in lower case, and "*.example.com" matches every name below example.com.
	Value string
}
