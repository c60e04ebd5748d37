package explain

import "testing"

// A selector for a label without a value selects no object that lacks the label.
func TestASelectorWantsItsLabels(t *testing.T) {
	for labels, want := range map[string]bool{"": true, "app=cart": true, "empty=": true, "app=": false, "tier=": false, "app=cart,tier=": false, "app=cart,empty=": true} {
		if got := (policyTarget{labels: map[string]string{"app": "cart", "empty": ""}}).has(labels); got != want {
			t.Errorf("%q: %v", labels, got)
		}
	}
}
