package explain

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

// TestSentencesHideCredentials wants no credential in a sentence that quotes it, escaped or not, and words that
// stay readable if a credential is as short as a letter.
func TestSentencesHideCredentials(t *testing.T) {
	for _, test := range []struct{ key, sentence, want string }{
		{"k-acme-SECRET", `api-key is "k-acme-SECRET", not "x"`, `api-key is "[redacted]", not "x"`},
		{"Bearer k-acme-SECRET", `api-key is ["Bearer k-acme-SECRET"], not "x"`, `api-key is ["[redacted]"], not "x"`},
		{"Bearer k-acme-SECRET", `no client has k-acme-SECRET`, `no client has [redacted]`},
		{`SECRET"key`, `api-key is "SECRET\"key", not "x"`, `api-key is "[redacted]", not "x"`},
		{"a", `a header has "a", not "b"`, `a header has "[redacted]", not "b"`},
		{"c", `x-forwarded-for is "<address of the client>, c"`, `x-forwarded-for is "<address of the client>, [redacted]"`},
		{"", `a header has "", not "b"`, `a header has "", not "b"`},
	} {
		hide := NewRedaction().Hide(http.Header{"Api-Key": {test.key}}, "/")
		if got := hide(test.sentence); got != test.want {
			t.Errorf("%q in %s: %s", test.key, test.sentence, got)
		}
	}
}

// TestReportsHideCredentials gives a request that has a credential in each place where a request may have one, more
// than once, and wants none in any field of the report. No rule reads one of them.
func TestReportsHideCredentials(t *testing.T) {
	headers := http.Header{
		"Authorization": {"Basic SECRET-1", "bearer SECRET-2"}, "Proxy-Authorization": {"SECRET-3"}, "X-Api-Key": {"SECRET-4", "SECRET-5"},
		"Cookie": {"a=SECRET-6; kc=SECRET-7", "CodeVerifier.abc=SECRET-8"}, "X-Declared": {"SECRET-9"}, "X-Plain": {"plain"},
		"X-Copy": {"copy of SECRET-2"},
	}
	path := "/oauth2/redirect?code=SECRET-10&access_token=SECRET-11&access_token=SECRET-12&key=t&page=1&a%70i_key=SECRET-13&mine=SECRET-14"
	rule := &ir.Rule{Action: ir.Action{Extras: &ir.Extras{APIKeyAuth: &ir.APIKeyAuth{Sources: []ir.KeySource{{Header: "X-Declared"}, {Query: "mine"}}}}}}
	a := Answer{Considered: []Miss{{Rule: rule}}}
	var quoted []string
	for _, values := range headers {
		quoted = append(quoted, values...)
	}
	for _, pair := range strings.Split(path[strings.Index(path, "?")+1:], "&") {
		_, value, _ := strings.Cut(pair, "=")
		quoted = append(quoted, value)
	}
	sentence := `has "` + strings.Join(quoted, `", "`) + `"`
	r := &Report{
		Request: RequestReport{URL: "http://a.test" + path, Headers: headers}, Location: "https://b.test" + path, Reason: sentence,
		Caveats: []string{sentence}, Suggestions: []string{"http://c.test" + path}, NearMisses: []NearMissReport{{Reason: sentence}},
		Backends: []BackendReport{{Receives: &ReceivesReport{Path: "/SECRET-11" + path, Headers: headers.Clone()}}},
	}
	query := Query{Path: path, Headers: headers}
	r.redact(a.redaction(), query)
	receives := r.Backends[0].Receives
	texts := []string{r.Request.URL, r.Location, r.Reason, r.Caveats[0], r.Suggestions[0], r.NearMisses[0].Reason, receives.Path}
	for _, shown := range []http.Header{r.Request.Headers, receives.Headers} {
		texts = append(texts, url.Values(shown).Encode())
	}
	for i, text := range texts {
		if strings.Contains(text, "SECRET") || !strings.Contains(text, "plain") && !strings.Contains(text, "page=1") {
			t.Errorf("text %d: %s", i, text)
		}
	}
	if !strings.HasPrefix(r.Request.URL, "http://a.test/oauth2/redirect?code=[redacted]&") {
		t.Error(r.Request.URL)
	}
}
