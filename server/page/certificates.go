package page

import (
	"net/http"
	"time"

	"github.com/gatefold/gatefold/server/admin"
)

// certificatesShown is how many certificates the page shows at once; the rest is on further pages (see piece). The
// constant soon is a duration: the page marks a certificate that expires in less than this time.
const certificatesShown, soon = 100, 14 * 24 * time.Hour

// certificatePage lists the certificates of listeners. The certificate that expires first is first.
type certificatePage struct {
	Rows  []certificateRow
	Piece piece
}

// certificateRow is a certificate with its state, and the CSS class of the state.
type certificateRow struct {
	admin.Certificate
	State, Class string
}

// certificates returns the body of the page of certificates. It returns an error if nothing is loaded yet, or
// if the query is invalid.
func (p *pages) certificates(r *http.Request) (any, error) {
	all, err := p.documents.Certificates()
	if err != nil {
		return nil, err
	}
	shown, at, err := sliced(all, longList{admin.PagePath + "certificates", r.URL.Query(), certificatesShown})
	page, now := certificatePage{Piece: at}, time.Now()
	for _, c := range shown {
		row := certificateRow{Certificate: c, State: "valid", Class: "good"}
		switch {
		case now.After(c.NotAfter):
			row.State, row.Class = "expired", "bad"
		case now.Before(c.NotBefore):
			row.State, row.Class = "not valid yet", "bad"
		case c.NotAfter.Sub(now) < soon:
			row.State, row.Class = "ends soon", "warn"
		}
		page.Rows = append(page.Rows, row)
	}
	return page, err
}
