package explain

import "testing"

// Of several wrong claims, always the same one is named.
func TestOneWrongClaimIsNamed(t *testing.T) {
	for range 20 {
		wrong := token{payload: map[string]any{"exp": "x", "nbf": -1.0, "iat": 0.0}}
		if got, want := wrong.readClaims(), "nbf of the token is not a number of seconds, or is negative"; got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}
