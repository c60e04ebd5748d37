package explain

import (
	"slices"
	"strings"
)

// TLSReport describes the TLS between Envoy and a backend.
type TLSReport struct {
	// Policy is the BackendTLSPolicy that configures the TLS.
	Policy Source `json:"policy"`
	// Hostname is the server name in the TLS handshake (SNI). The backend's certificate must have one of Names,
	// such as "DNS cart.example.com" or "URI spiffe://…".
	Hostname string   `json:"hostname"`
	Names    []string `json:"names"`
	// Authorities are the objects with the CA certificates. One of these must have signed the backend's
	// certificate. If there are no objects, Envoy uses the CA certificates of its system.
	Authorities []Source `json:"authorities,omitempty"`
	// Client is the Secret with the certificate that Envoy sends to the backend. It is nil if Envoy sends none.
	Client *Source `json:"client,omitempty"`
}

// Words returns the TLS settings as text in one line.
func (r *TLSReport) Words() string {
	signed := "one of Envoy's system"
	if len(r.Authorities) > 0 {
		var words []string
		for _, a := range r.Authorities {
			words = append(words, a.Object.String())
		}
		signed = strings.Join(words, " or ")
	}
	names := strings.Join(r.Names, " or ")
	out := "speaks TLS: asks for " + r.Hostname + ", wants a certificate for " + names + ", signed by " + signed
	if r.Client != nil {
		out += "; shows " + r.Client.Object.String()
	}
	return out
}

// sources returns every Source of the report. It returns nil if r is nil.
func (r *TLSReport) sources() []*Source {
	if r == nil {
		return nil
	}
	out := []*Source{&r.Policy}
	for i := range r.Authorities {
		out = append(out, &r.Authorities[i])
	}
	return slices.DeleteFunc(append(out, r.Client), func(s *Source) bool { return s == nil })
}
