package ir_test

import (
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

// TestIdentityName: a name that no request can have is not removed from requests, since Envoy rejects such a removal.
func TestIdentityName(t *testing.T) {
	for header, want := range map[string]string{
		"X_User": "x-user", "x-user": "x-user",
		"": "", ":path": "", "x-user\r\n\x00x": "", "x user": "", "x-üser": "", "Cookie": "", ir.UserHeader: "",
	} {
		if name, ok := ir.IdentityName(header); ok != (want != "") || ok && name != want {
			t.Errorf("%q: %q, %v, want %q", header, name, ok, want)
		}
	}
}
