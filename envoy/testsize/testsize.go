// Package testsize says how much the random tests do. By default it is little, and the same
// in each run. GATEFOLD_TIMES=N has them do N times as much, as `make random` and its sisters
// do, -short a quarter, as `make race` does, and GATEFOLD_SEED=N makes other folders, edits and
// requests.
package testsize

import (
	"os"
	"strconv"
	"testing"
)

// Of returns n times GATEFOLD_TIMES, or with -short a quarter of it, and at least 1. A test that fails names the seed that it ran with, see
// Seed. Call it in the body of the test itself: .ci/random finds the tests by that.
func Of(t testing.TB, n int) int {
	t.Helper()
	n *= int(number(t, "GATEFOLD_TIMES"))
	if testing.Short() {
		return max(1, n/4)
	}
	return n
}

// Seed returns GATEFOLD_SEED, or 1. A test that tries several seeds starts with it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := number(t, "GATEFOLD_SEED")
	t.Logf("GATEFOLD_SEED=%d makes the same again", seed)
	return seed
}

// number reads a variable of the environment, 1 where it is not set.
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
