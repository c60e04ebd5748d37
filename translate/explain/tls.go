package explain

import (
	"slices"
	"strings"
)

// TLSReport describes the TLS between Envoy and a backend.
type TLSReport struct {
	// Policy is the BackendTLSPolicy that configures it.
	Policy Source `json:"policy"`
	// Hostname is the server name in the handshake (SNI). The backend's certificate must have
	// one of Names, such as "DNS cart.example.com" and "URI spiffe://…".
	Hostname string   `json:"hostname"`
	Names    []string `json:"names"`
	// Authorities are the objects with the CA certificates, one of which must have signed it;
	// none for those of Envoy's system.
	Authorities []Source `json:"authorities,omitempty"`
	// Client is the Secret of the certificate that Envoy shows to the backend, nil for none.
	Client *Source `json:"client,omitempty"`
}

// Words returns a text of one line.
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

// sources yields every Source of the report.
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
