package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// CertificateList is the page /api/v1/certificates.
type CertificateList struct {
	Certificates []Certificate `json:"certificates"`
}

// Certificate is a certificate that a listener presents to clients. It has only what every client can see.
type Certificate struct {
	Object    manifest.Key `json:"object"` // the Secret
	SHA256    string       `json:"sha256"` // the beginning of its SHA-256 hash
	Names     []string     `json:"names,omitempty"`
	NotBefore time.Time    `json:"notBefore"`
	NotAfter  time.Time    `json:"notAfter"`
	// State says whether clients accept the certificate at the time of the answer: "valid", "ends-soon", "expired" or
	// "not-valid-yet".
	State CertificateState `json:"state"`
}

// CertificateState says whether clients accept a certificate now.
type CertificateState string

// The states of a certificate. A certificate ends soon if less than Soon is left.
const (
	CertificateValid       CertificateState = "valid"
	CertificateEndsSoon    CertificateState = "ends-soon"
	CertificateExpired     CertificateState = "expired"
	CertificateNotValidYet CertificateState = "not-valid-yet"
)

// Words returns the state in words for people: "ends soon" for CertificateEndsSoon.
func (s CertificateState) Words() string { return strings.ReplaceAll(string(s), "-", " ") }

// Soon is how long before its end a certificate is shown as one that ends soon. Programs that renew certificates do so
// earlier.
const Soon = 14 * 24 * time.Hour

// certificateState returns the state of a certificate at the time now.
func certificateState(c ir.Certificate, now time.Time) CertificateState {
	switch {
	case now.After(c.NotAfter):
		return CertificateExpired
	case now.Before(c.NotBefore):
		return CertificateNotValidYet
	case c.NotAfter.Sub(now) < Soon:
		return CertificateEndsSoon
	}
	return CertificateValid
}

// Certificates returns the certificates that listeners present to clients; the one that expires first (NotAfter)
// comes first. The error is ErrUnloaded if nothing was published yet.
func (d Documents) Certificates() ([]Certificate, error) {
	view := d.options.Loaded.View()
	if view == nil {
		return nil, ErrUnloaded
	}
	all, now := []Certificate{}, time.Now()
	for _, c := range view().Certificates {
		all = append(all, certificateOf(c, now))
	}
	slices.SortFunc(all, func(a, b Certificate) int {
		return cmp.Or(a.NotAfter.Compare(b.NotAfter), manifest.CompareKeys(a.Object, b.Object), cmp.Compare(a.SHA256, b.SHA256))
	})
	return all, nil
}

func certificateOf(c ir.Certificate, now time.Time) Certificate {
	return Certificate{
		Object: c.Secret, SHA256: c.Sum, Names: c.Names, NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(),
		State: certificateState(c, now),
	}
}

func (p pages) certificates(w http.ResponseWriter, r *http.Request) {
	if !onlyQuery(w, r) {
		return
	}
	all, err := p.documents.Certificates()
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, CertificateList{all})
}
