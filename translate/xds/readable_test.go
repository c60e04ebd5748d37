package xds

import "testing"

// TestLiteral checks what is left of a regular expression that cannot be read: never more than all of its paths begin
// with.
func TestLiteral(t *testing.T) {
	for pattern, want := range map[string]string{
		"/admin/(.*": "/admin/", "^/admin(": "/admin", "/adm[in": "/adm", `/a\.b(`: "/a.b", `/a\d(`: "/a", "/ab*(": "/a", "/ab?(": "/a",
		"/ab{9999}": "/a", "/ab+(": "/ab", "/a|/b(": "", "/(a|b": "/", "/a)|/b": "", "(?i)/admin(": "", "*": "", "": "", `/a\`: "/a",
		"/ä*(": "/",
	} {
		if got := literal(pattern); got != want {
			t.Errorf("of %s is left %q, not %q", pattern, got, want)
		}
	}
}
