package explain

import "testing"

// A selector for a label without a value selects no object that lacks the label.
func TestASelectorWantsItsLabels(t *testing.T) {
	for labels, want := range map[string]bool{"": true, "app=cart": true, "empty=": true, "app=": false, "tier=": false, "app=cart,tier=": false, "app=cart,empty=": true, "!tier,app in (cart,shop)": true, "app notin (cart)": false, "cut off=…": true} {
		if got := (policyTarget{labels: map[string]string{"app": "cart", "empty": ""}}).matches(labels); got != want {
			t.Errorf("%q: %v", labels, got)
		}
	}
}

// Of several wrong claims, always the same one is named.
func TestOneWrongClaimIsNamed(t *testing.T) {
	for range 20 {
		wrong := token{payload: map[string]any{"exp": "x", "nbf": -1.0, "iat": 0.0}}
		if got, want := wrong.readClaims(), "nbf of the token is not a number of seconds, or is negative"; got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}
