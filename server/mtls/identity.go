package mtls

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// All grants every Gateway.
const All = "*"

// Grants map DNS names and URIs of client certificates to the Gateways that they may have,
// "namespace/name" or All, in addition to those that a SPIFFE ID names.
type Grants map[string][]string

// ParseGrants parses "SAN=NAMESPACE/NAME" and "SAN=*", in which SAN is a DNS name or URI of a
// certificate. The error names the entry that is invalid.
func ParseGrants(texts []string) (Grants, error) {
	grants := Grants{}
	for _, text := range texts {
		at := strings.LastIndex(text, "=") // a URI may hold one, too
		if at <= 0 {
			return nil, fmt.Errorf("%q is not SAN=NAMESPACE/NAME or SAN=*", text)
		}
		san, gateway := text[:at], text[at+1:]
		if gateway != All && !isGateway(gateway) {
			return nil, fmt.Errorf("%q: %q is neither the NAMESPACE/NAME of a Gateway nor *", text, gateway)
		}
		if !strings.Contains(san, "://") { // DNS names do not tell case apart
			san = strings.ToLower(san)
		}
		grants[san] = append(grants[san], gateway)
	}
	return grants, nil
}

// isGateway reports whether text is two names with one "/" between them.
func isGateway(text string) bool {
	namespace, name, found := strings.Cut(text, "/")
	return found && namespace != "" && name != "" && !strings.ContainsAny(name, "/*") && !strings.Contains(namespace, "*")
}

// Identity is the authenticated identity of an Envoy. It determines which Gateways it may have:
// their configuration, and the secrets in it.
type Identity struct {
	// Names are the DNS names and URIs of the certificate; empty without TLS.
	Names []string
	// gateways are "namespace/name" or All.
	gateways []string
	// unproved is a peer of an insecure transport: it has what it names.
	unproved bool
}

// Local returns the identity of a client on a socket of this host. Access to the socket is its
// proof.
func Local() Identity { return Identity{gateways: []string{All}} }

// Unproved returns the identity of a client from elsewhere, for a server that asks for no proof
// (--xds-insecure). It may have the one Gateway that it names.
func Unproved() Identity { return Identity{unproved: true} }

// Identify returns the identity of a verified certificate. The URI
// spiffe://TRUST-DOMAIN/gateway/NAMESPACE/NAME names that Gateway; the grants map other names.
// The path must match as a whole: otherwise anyone who may choose a part of it could name a
// Gateway.
func (g Grants) Identify(certificate *x509.Certificate) Identity {
	var who Identity
	for _, name := range certificate.DNSNames {
		who.Names = append(who.Names, name)
		who.gateways = append(who.gateways, g[strings.ToLower(name)]...)
	}
	for _, uri := range certificate.URIs {
		name := uri.String()
		who.Names = append(who.Names, name)
		who.gateways = append(who.gateways, g[name]...)
		if gateway, ok := ownGateway(uri); ok {
			who.gateways = append(who.gateways, gateway)
		}
	}
	return who
}

// ownGateway returns the Gateway that a SPIFFE ID names by itself.
func ownGateway(uri *url.URL) (string, bool) {
	gateway, found := strings.CutPrefix(uri.EscapedPath(), "/gateway/")
	plain := uri.Scheme == "spiffe" && uri.RawQuery == "" && uri.Fragment == "" && uri.User == nil
	return gateway, found && plain && isGateway(gateway) && !strings.Contains(gateway, "%")
}

// May reports whether this identity may have a node.cluster: "namespace/name" is that Gateway,
// a name without "/" is all Gateways (docs/design/gateways.md). Nothing else decides which
// configuration an Envoy gets.
func (i Identity) May(cluster string) bool {
	one := strings.Contains(cluster, "/")
	return slices.Contains(i.gateways, All) || one && (i.unproved || slices.Contains(i.gateways, cluster))
}

// String returns the identity for log and status.
func (i Identity) String() string { return strings.Join(i.Names, ", ") }

// Denial returns why May returned false, and what to do.
func (i Identity) Denial(cluster string) string {
	asked := "all Gateways"
	if strings.Contains(cluster, "/") {
		asked = "Gateway " + cluster
	}
	switch {
	case i.unproved:
		return fmt.Sprintf("node.cluster is %q: name one Gateway as namespace/name; all Gateways are served over loopback, "+
			"a unix socket or to a certificate that may have them all", cluster)
	case len(i.gateways) == 0:
		return fmt.Sprintf("node.cluster asks for %s, and the client's certificate is for none: it needs the URI "+
			"spiffe://TRUST-DOMAIN/gateway/NAMESPACE/NAME, or --xds-tls-identity says what it may have", asked)
	}
	return fmt.Sprintf("node.cluster asks for %s, and the client's certificate is for %s only", asked, strings.Join(i.gateways, ", "))
}
