package testsize_test

import (
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
)

func TestSizes(t *testing.T) {
	t.Setenv("GATEFOLD_TIMES", "")
	t.Setenv("GATEFOLD_SEED", "")
	if n, seed := testsize.Of(t, 20), testsize.Seed(t); n != 20 || seed != 1 {
		t.Errorf("by default %d, from seed %d", n, seed)
	}
	t.Setenv("GATEFOLD_TIMES", "100")
	t.Setenv("GATEFOLD_SEED", "7")
	if n, seed := testsize.Of(t, 20), testsize.Seed(t); n != 2000 || seed != 7 {
		t.Errorf("a hundred times as much is %d, from seed %d", n, seed)
	}
}
