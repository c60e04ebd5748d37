package explain

import "testing"

// TestSentencesHideCredentials wants no credential in a sentence that quotes it, escaped or not, and words that
// stay readable if a credential is as short as a letter.
func TestSentencesHideCredentials(t *testing.T) {
	for _, test := range []struct{ credential, sentence, want string }{
		{"k-acme-SECRET", `api-key is "k-acme-SECRET", not "x"`, `api-key is "[redacted]", not "x"`},
		{"k-acme-SECRET", `api-key is ["Bearer k-acme-SECRET"] and does not match "x"`, `api-key is ["Bearer [redacted]"] and does not match "x"`},
		{`SECRET"key`, `api-key is "SECRET\"key", not "x"`, `api-key is "[redacted]", not "x"`},
		{"k-acme-SECRET", "no rule for k-acme-SECRET", "no rule for [redacted]"},
		{"a", `a header has "a", not "b"`, `a header has "[redacted]", not "b"`},
		{"", `a header has "", not "b"`, `a header has "", not "b"`},
	} {
		if got := hidingInSentences([]string{test.credential})(test.sentence); got != test.want {
			t.Errorf("%q in %s: %s", test.credential, test.sentence, got)
		}
	}
}
