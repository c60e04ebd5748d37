package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/store/manifest"
)

// status shows the certificates that have ended or end soon, and no others.
func TestStatusShowsCertificatesThatEnd(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	certificate := func(name string, state admin.CertificateState, left time.Duration) admin.Certificate {
		return admin.Certificate{Object: manifest.Key{Kind: "Secret", Namespace: "edge", Name: name}, State: state, NotAfter: now.Add(left), Names: []string{name + ".example.com"}}
	}
	const day = 24 * time.Hour
	var out strings.Builder
	list := []admin.Certificate{
		certificate("old", admin.CertificateExpired, -day), certificate("today", admin.CertificateEndsSoon, time.Hour),
		certificate("week", admin.CertificateEndsSoon, 5*day), certificate("fine", admin.CertificateValid, 80*day),
	}
	if err := printCertificates(&out, list); err != nil {
		t.Fatal(err)
	}
	ends := func(i int) string { return list[i].NotAfter.Format(time.RFC3339) }
	want := []string{
		"CERTIFICATE STATE ENDS NAMES", "Secret edge/old expired " + ends(0) + " old.example.com",
		"Secret edge/today ends soon " + ends(1) + ", in less than a day today.example.com",
		"Secret edge/week ends soon " + ends(2) + ", in 5 days week.example.com",
	}
	if got := strings.Join(strings.Fields(out.String()), " "); got != strings.Join(want, " ") {
		t.Error(out.String())
	}
	out.Reset()
	if err := printCertificates(&out, list[3:]); err != nil || out.Len() > 0 {
		t.Error(out.String(), err)
	}
	if err := printTransport(&out, admin.Transport{TLS: &admin.TLS{Expires: now.Add(5 * day)}}); err != nil || !strings.Contains(out.String(), "The xDS certificate ends on "+ends(2)+", in 5 days.") {
		t.Error(out.String(), err)
	}
}
