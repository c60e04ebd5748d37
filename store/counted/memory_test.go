package counted

import (
	"strings"
	"testing"
)

// An expression needs memory for what it has, and after requests for the states of its automaton: about as many as it has
// characters, but for a choice that stays open.
func TestMemoryOfAnExpression(t *testing.T) {
	const distinct = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz;=@~"
	for pattern, want := range map[string]struct{ program, after int }{
		"[":                                      {0, 0},
		"/shop/[^/]+":                            {1_000, 2_000},
		"/" + strings.Repeat("a", 200):           {8_000, 30_000},
		"/" + strings.Repeat("é", 200):           {15_000, 60_000}, // each is two bytes
		"/[^/]{0,999}":                           {60_000, 200_000},
		"/[^/]{0,1000}":                          {60_000, fullAutomaton}, // costly
		"/" + distinct:                           {20_000, 40_000},
		"/" + distinct + "[a-c]{400}":            {130_000, 300_000},
		`/\PL{100}`:                              {20_000, 50_000},
		".*/[0-9a-f]{40}":                        {3_000, 10_000},
		".*[.](jpg|png|gif|css|js)":              {5_000, 10_000},
		".*foo.*bar.*(baz|qux)":                  {5_000, 10_000},
		".*-[a-z0-9-]{1,40}x":                    {8_000, fullAutomaton},
		"/[ab]*a[ab]{14}x":                       {5_000, fullAutomaton},
		"/[ab]{0,30}a[ab]{14}x":                  {8_000, fullAutomaton},
		"(a|b)*a" + strings.Repeat("(a|b)", 100): {80_000, fullAutomaton},
	} {
		program, after := ProgramBytes(pattern), MemoryBytes(pattern)
		if program > want.program || program < want.program/4 || after > want.after || after < want.after/4 || after < program {
			t.Errorf("%.40s: %d and %d bytes, want up to %d and %d", pattern, program, after, want.program, want.after)
		}
	}
}

// An expression that is refused by its count is neither compiled nor walked through to find its price: that allocates
// thousands of times.
func TestACostlyExpressionIsOnlyCounted(t *testing.T) {
	for _, pattern := range []string{`/\PL{1000}`, "/.*a[^b]{990}x{50}", `(?:a?b?c?d?){300}`} {
		counts := testing.AllocsPerRun(10, func() { Costly(pattern) })
		if prices := testing.AllocsPerRun(10, func() { MemoryBytes(pattern) }); prices > 2*counts || Costly(pattern) == "" || MemoryBytes(pattern) != fullAutomaton {
			t.Errorf("%s: %d bytes; to count it takes %v allocations, to price it %v", pattern, MemoryBytes(pattern), counts, prices)
		}
	}
}

// Bytes are in one class if no instruction tells them apart.
func TestClassesOfBytes(t *testing.T) {
	for pattern, want := range map[string]int{
		"abc":         4,
		"[a-c]x":      3,
		"[a-c][b-d]":  4,
		".":           2,
		"(?s:.)":      1,
		"(?i)k":       2, // the Kelvin sign is no byte
		"é":           3,
		`\pL`:         2,
		"[abc][cba]":  2,
		"[a-z0-9_-]*": 2,
	} {
		if e, ok := readBytes(pattern); !ok || len(e.bytes) != want {
			t.Errorf("%s: %d classes, want %d", pattern, len(e.bytes), want)
		}
	}
}

// The work for a hostile expression ends soon after maxVisits: a state of it has thousands of instructions, and another
// state follows for each of many bytes.
func TestCountingAnAutomatonIsBounded(t *testing.T) {
	const letters = "a?b?c?d?e?f?g?h?i?j?k?l?m?n?o?p?q?r?s?t?u?v?w?x?y?z?"
	e, ok := readBytes("(?:" + letters + "){60}")
	if !ok {
		t.Fatal("the expression is invalid")
	}
	w := newWalk(e)
	start := w.queue[0]
	for len(w.queue) > 0 && w.visits <= maxVisits {
		w.leave(w.queue[0])
		w.queue = w.queue[1:]
	}
	if len(start) < maxVisits/4 || w.visits > maxVisits+len(start) {
		t.Errorf("%d visits of states with up to %d instructions", w.visits, len(start))
	}
}
