package explain

import (
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
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

// addCluster adds what a target's cluster is made of, and how Envoy connects to it.
func (r *BackendReport) addCluster(cluster *ir.Cluster) {
	for _, object := range cluster.Objects {
		r.Objects = append(r.Objects, Source{Object: object})
	}
	r.Endpoints, r.Closed = endpoints(cluster), cluster.Closed
	if cluster.TLS == nil {
		return
	}
	tls := cluster.TLS
	r.TLS = &TLSReport{Hostname: tls.Hostname, Policy: Source{Object: tls.Policy}}
	for _, name := range tls.Names {
		kind := "DNS "
		if name.URI {
			kind = "URI "
		}
		r.TLS.Names = append(r.TLS.Names, kind+name.Value)
	}
	for _, key := range tls.Authorities {
		r.TLS.Authorities = append(r.TLS.Authorities, Source{Object: key})
	}
	if tls.Client != (manifest.Key{}) {
		r.TLS.Client = &Source{Object: tls.Client}
	}
}

// unservedWords says why none of the targets gets requests.
func unservedWords(all []BackendReport) string {
	var words []string
	for _, b := range all {
		why := b.Cluster + ": " + b.Closed
		if b.Cluster == "" {
			why = b.Reason
		}
		if !slices.Contains(words, why) {
			words = append(words, why)
		}
	}
	return strings.Join(words, "; ")
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

// certificates reports those of the chain that the host leads to; none without TLS.
func (b *reporter) certificates() (out []CertificateReport) {
	name, _ := chainOf(b.answer.Port, b.query.Host)
	for _, chain := range b.answer.Port.Chains {
		if chain.Name != name || chain.TLS == nil {
			continue
		}
		for _, secret := range chain.TLS.Certificates {
			for _, c := range b.facts.View.Certificates {
				if ir.SecretName(c.Secret) == secret {
					out = append(out, CertificateReport{Object: c.Secret, Names: c.Names, NotAfter: c.NotAfter, At: Source{Object: c.Secret}})
				}
			}
		}
	}
	return out
}

// Words returns it in one line.
func (c CertificateReport) Words() string {
	words := c.Object.String()
	if len(c.Names) > 0 {
		words += " for " + strings.Join(c.Names[:min(len(c.Names), maxSuggestions)], ", ")
	}
	if !c.NotAfter.IsZero() {
		words += ", until " + c.NotAfter.UTC().Format(time.DateOnly)
	}
	return words
}
