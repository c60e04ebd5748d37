package page

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gatefold/gatefold/server/admin"
)

// certificatesShown is how many certificates the page shows at once; the rest is on further pages (see piece).
const certificatesShown = 100

// certificatePage lists the certificates of listeners. The certificate that expires first is first.
type certificatePage struct {
	Rows  []certificateRow
	Piece piece
}

// certificateRow is a certificate.
type certificateRow struct{ admin.Certificate }

// Class returns the CSS class of the certificate's state.
func (c certificateRow) Class() string {
	switch c.State {
	case admin.CertificateValid:
		return "good"
	case admin.CertificateEndsSoon:
		return "warn"
	}
	return "bad"
}

// certificates returns the body of the page of certificates. It returns an error if nothing is loaded yet, or
// if the query is invalid.
func (p *pages) certificates(r *http.Request) (any, error) {
	all, err := p.documents.Certificates()
	if err != nil {
		return nil, err
	}
	shown, at, err := sliced(all, longList{admin.PagePath + "certificates", r.URL.Query(), certificatesShown})
	page := certificatePage{Piece: at}
	for _, c := range shown {
		page.Rows = append(page.Rows, certificateRow{c})
	}
	return page, err
}

// certificateCounts returns in words how many certificates are in each state other than valid: "expired: 1, ends
// soon: 2". It returns "" if all are valid.
func certificateCounts(certificates []admin.Certificate) string {
	counts := map[admin.CertificateState]int{}
	for _, c := range certificates {
		counts[c.State]++
	}
	var words []string
	for _, state := range []admin.CertificateState{admin.CertificateExpired, admin.CertificateNotValidYet, admin.CertificateEndsSoon} {
		if n := counts[state]; n > 0 {
			words = append(words, fmt.Sprintf("%s: %d", state.Words(), n))
		}
	}
	return strings.Join(words, ", ")
}
