package cli

import "testing"

func TestShareOfHealthyEndpoints(t *testing.T) {
	for _, test := range []struct {
		healthy, notChecked, all int
		want                     string
	}{
		{5, 0, 6, "5 of 6"},
		{0, 0, 0, "0 of 0"},
		{1, 4, 6, "1 of 6, 4 not checked"},
		{0, 2, 2, "2 not checked"},
	} {
		if got := share(test.healthy, test.notChecked, test.all); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
