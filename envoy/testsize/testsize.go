// Package testsize decides how much the random tests do. By default they do little, and the same in each run.
// With GATEFOLD_TIMES=N they do N times as much, as in `make random`. With -short they do a quarter, as in
// `make race`. With GATEFOLD_SEED=N they make other folders, edits and requests.
package testsize

import (
	"os"
	"strconv"
	"testing"
)

// Of returns n times GATEFOLD_TIMES. With -short, it returns a quarter of that, and at least 1. A test that
// uses Of must log its seed when it fails (see Seed). It must call Of in its own body, because .ci/random finds
// the random tests by these calls.
func Of(t testing.TB, n int) int {
	t.Helper()
	n *= int(number(t, "GATEFOLD_TIMES"))
	if testing.Short() {
		return max(1, n/4)
	}
	return n
}

// Seed returns GATEFOLD_SEED, 1 if it is not set, and logs it. A test that tries several seeds starts with this
// seed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := number(t, "GATEFOLD_SEED")
	t.Logf("GATEFOLD_SEED=%d makes the same again", seed)
	return seed
}

// number returns a variable of the environment as a number, 1 if it is not set. The test fails if the variable
// is not a number from 1 on.
func number(t testing.TB, variable string) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return 1
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		t.Fatalf("%s=%q is not a number from 1 on", variable, text)
	}
	return n
}
