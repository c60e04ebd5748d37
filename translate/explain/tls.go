package explain

import (
	"slices"
	"strings"
)

// TLSReport is how Envoy speaks TLS to a backend.
type TLSReport struct {
	// Policy is the BackendTLSPolicy that asks for it.
	Policy Source `json:"policy"`
	// Hostname is asked for in the handshake (SNI). Names are those of which the
	// certificate must have one, such as "DNS cart.example.com" and "URI spiffe://…".
	Hostname string   `json:"hostname"`
	Names    []string `json:"names"`
	// Authorities are the objects with the certificates that must have signed it; none
	// for those of the system that Envoy runs on.
	Authorities []Source `json:"authorities,omitempty"`
	// Client is the Secret of the certificate that the backend is shown, nil for none.
	Client *Source `json:"client,omitempty"`
}

// Words returns it in one line.
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
