package explain

import (
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

// The words about jwtAuth say that a token is required only where requests without one are rejected.
func TestWordsOfJWTAuth(t *testing.T) {
	for want, jwt := range map[string]ir.JWT{
		"a token of a or b is required":                                                  {},
		"a token of a or b is checked; requests without one pass, too":                   {Missing: true},
		"a token of a or b is checked; requests without a valid one pass, too":           {Failed: true},
		"a token of a or b is required; Envoy rejected these providers, and answers 403": {Rejected: "words"},
	} {
		for _, name := range []string{"a", "b"} {
			jwt.Providers = append(jwt.Providers, ir.JWTProvider{Name: name})
		}
		extras := &ir.Extras{JWTAuth: &ir.JWTAuth{}}
		extras.JWTAuth.Extension = &ir.Extension{JWT: &jwt}
		if got := jwtAuthWords(extras); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
