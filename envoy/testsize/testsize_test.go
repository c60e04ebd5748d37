package testsize_test

import (
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
)

func TestSizes(t *testing.T) {
	t.Setenv("GATEFOLD_TIMES", "")
	t.Setenv("GATEFOLD_SEED", "")
	usual, least := 20, 2
	if testing.Short() {
		usual, least = 5, 1
	}
	if n, seed := testsize.Of(t, 20), testsize.Seed(t); n != usual || seed != 1 {
		t.Errorf("by default %d, from seed %d", n, seed)
	}
	if n := testsize.Of(t, 2); n != least {
		t.Errorf("of two there are %d, want %d", n, least)
	}
	t.Setenv("GATEFOLD_TIMES", "100")
	t.Setenv("GATEFOLD_SEED", "7")
	if n, seed := testsize.Of(t, 20), testsize.Seed(t); n != 100*usual || seed != 7 {
		t.Errorf("a hundred times as much is %d, from seed %d", n, seed)
	}
}
