package explain_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// What a service adds to a request that is nearly too large is not known: the answer says so,
// and only then. A body that is too large is rejected before any service is asked.
func TestWhatServicesMayDoToLargeRequests(t *testing.T) {
	use := ir.ExtensionUse{Extension: &ir.Extension{Service: ir.Service{Cluster: "sso"}, Auth: &ir.AuthService{Percent: 100}, Processor: &ir.ProcessorService{}, Limiter: &ir.LimitService{}}}
	many := http.Header{}
	for i := range 90 {
		many.Set(fmt.Sprintf("x-many-%d", i), "1")
	}
	big, body := http.Header{"X-Big": {strings.Repeat("x", 55<<10)}}, many.Clone()
	body.Set("Content-Length", "20")
	const full = "sso adds more headers than Envoy takes: 100 with Host, or 60 KB (500)"
	auth := &ir.Extras{ExtAuth: &ir.ExtAuth{ExtensionUse: use}, BufferBytes: 10}
	processor := &ir.Extras{ExtProc: &ir.ExtProc{ExtensionUse: use}, BufferBytes: 10}
	limiter := &ir.Extras{GlobalLimit: &ir.GlobalLimit{ExtensionUse: use}, BufferBytes: 10}
	for _, c := range []struct {
		name    string
		extras  *ir.Extras
		headers http.Header
		want    []string // those of the lines that are meant here
	}{
		{"few headers", auth, http.Header{"X-A": {"1"}}, nil},
		{"many headers and extAuth", auth, many, []string{"extAuth: " + full}},
		{"many headers and extProc", processor, many, []string{"extProc: " + full}},
		{"large headers and extProc", processor, big, []string{"extProc: " + full}},
		{"many headers and a limit", limiter, many, nil},
		{"a large body and extAuth", auth, body, nil},
		{"a large body and a limit", limiter, body, nil},
		{"a large body and extProc", processor, body, nil},
	} {
		rule := prefixed("r", 0, "/")
		rule.Action.Extras = c.extras
		report, err := explain.Explain(explain.Facts{View: viewWith("a.test", rule)}, explain.Query{Host: "a.test", Method: "POST", Headers: c.headers})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range report.Caveats {
			if slices.Contains([]string{"extAuth: " + full, "extProc: " + full}, line) {
				got = append(got, line)
			}
		}
		most := 0 // a processor sees the answer
		if c.extras == processor {
			most = 1
		}
		if large := c.headers.Get("Content-Length") != ""; large && (report.Status != http.StatusRequestEntityTooLarge || len(report.Caveats) > most) {
			t.Errorf("%s: got status %d unless %q, want 413 in any case", c.name, report.Status, report.Caveats)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q of %q, want %q", c.name, got, report.Caveats, c.want)
		}
	}
}

// The words about csrf do not promise what unless takes back.
func TestShadowedCSRFInWords(t *testing.T) {
	for percent, want := range map[uint32]string{
		50:  "50% of the requests are only to be checked, but Envoy rejects some that come from another origin (403)",
		100: "all requests are checked, and none is rejected",
	} {
		rule := prefixed("r", 0, "/")
		rule.Action.Extras = &ir.Extras{CSRF: &ir.CSRF{Shadowed: percent}}
		rule.Action.Parts = []ir.Part{{Kind: api.KindTrafficPolicy + " csrf", Object: manifest.Key{Kind: api.KindTrafficPolicy, Name: "p"}}}
		report, err := explain.Explain(explain.Facts{View: viewWith("a.test", rule)}, explain.Query{Host: "a.test", Method: "POST"})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Actions[0].Does; got != want || (len(report.Caveats) > 0) != (percent < 100) {
			t.Errorf("%d%%: got %q, unless %q", percent, got, report.Caveats)
		}
	}
}
