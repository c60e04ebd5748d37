package mtls

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// All is the name that means every Gateway.
const All = "*"

// Grants say which Gateways an Envoy may have in addition to the Gateway in its SPIFFE ID. The key is a DNS name
// or URI in the Envoy's certificate. The value has Gateways as "namespace/name", or All.
type Grants map[string][]string

// ParseGrants parses texts such as "SAN=NAMESPACE/NAME" and "SAN=*". SAN is a DNS name or URI of a certificate.
// The error names the first invalid text.
func ParseGrants(texts []string) (Grants, error) {
	grants := Grants{}
	for _, text := range texts {
		at := strings.LastIndex(text, "=") // a URI may contain "=" too
		if at <= 0 {
			return nil, fmt.Errorf("%q is not SAN=NAMESPACE/NAME or SAN=*", text)
		}
		san, gateway := text[:at], text[at+1:]
		if gateway != All && !isGateway(gateway) {
			return nil, fmt.Errorf("%q: %q is neither the NAMESPACE/NAME of a Gateway nor *", text, gateway)
		}
		if !strings.Contains(san, "://") { // DNS names are not case-sensitive
			san = strings.ToLower(san)
		}
		grants[san] = append(grants[san], gateway)
	}
	return grants, nil
}

// isGateway reports whether text is NAMESPACE/NAME, without "*".
func isGateway(text string) bool {
	namespace, name, found := strings.Cut(text, "/")
	return found && namespace != "" && name != "" && !strings.ContainsAny(name, "/*") && !strings.Contains(namespace, "*")
}

// Identity is the authenticated identity of an Envoy. It determines for which Gateways the Envoy may get the
// configuration with its secrets.
type Identity struct {
	// Names are the DNS names and URIs of the client certificate. They are empty without TLS.
	Names []string
	// gateways are the Gateways that the client may have, as "namespace/name" or All.
	gateways []string
	// unproved is true for a client of an insecure transport. That client may have any Gateway that it names.
	unproved bool
}

// Local returns the identity of a client on a unix socket or loopback address of this host. That client may
// have all Gateways, because only local users can connect.
func Local() Identity { return Identity{gateways: []string{All}} }

// Unproved returns the identity of a remote client of a server that requires no certificate (--xds-insecure).
// That client may have any one Gateway that it names, and not all Gateways at once.
func Unproved() Identity { return Identity{unproved: true} }

// Identify returns the identity for a verified client certificate. The client is permitted to get these Gateways:
//   - the Gateway that a URI of the certificate names in the form spiffe://TRUST-DOMAIN/gateway/NAMESPACE/NAME
//   - the Gateways that the Grants g list for the DNS names and URIs of the certificate
//
// The whole path of the SPIFFE URI must have this form. Otherwise, anyone who can choose a part of the path could
// name a Gateway.
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

// ownGateway returns the Gateway that a SPIFFE ID contains, as "namespace/name". It returns false if uri is not
// a SPIFFE ID for a Gateway.
func ownGateway(uri *url.URL) (string, bool) {
	gateway, found := strings.CutPrefix(uri.EscapedPath(), "/gateway/")
	plain := uri.Scheme == "spiffe" && uri.RawQuery == "" && uri.Fragment == "" && uri.User == nil
	return gateway, found && plain && isGateway(gateway) && !strings.Contains(gateway, "%")
}

// May reports whether the client may use the parameter cluster as its node.cluster. A name with "/"
// ("namespace/name") means that Gateway, and a name without "/" means all Gateways (docs/design/gateways.md).
// This is the only check of which configuration an Envoy may get.
func (i Identity) May(cluster string) bool {
	one := strings.Contains(cluster, "/")
	return slices.Contains(i.gateways, All) || one && (i.unproved || slices.Contains(i.gateways, cluster))
}

// String returns the names of the identity for log and status, or "" without a certificate.
func (i Identity) String() string { return strings.Join(i.Names, ", ") }

// Denial returns the message for a client that may not use the parameter cluster as its node.cluster (see May).
// It has the reason and what to do.
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
