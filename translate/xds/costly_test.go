package xds

import (
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

// A regular expression is checked without a compiled form of it: to check what repeats more takes no more allocations, for the
// rule that is refused and for the one that answers 500 in its place.
func TestACheckedExpressionIsNotCompiled(t *testing.T) {
	for _, action := range []ir.Action{{}, {Respond: &ir.Respond{Status: 500}}} {
		allocated := func(pattern string) float64 {
			rule := &ir.Rule{Source: &ir.Origin{Outside: true}, Action: action}
			return testing.AllocsPerRun(10, func() {
				c := checker{rule: rule}
				if c.regex("spec", pattern); len(c.problems) != 1 || c.problems[0].Code != costlyCode {
					t.Fatalf("%s: %v", pattern, c.problems)
				}
			})
		}
		if few, many := allocated(`/a\PL{501}`), allocated(`/a\PL{999}`); few != many {
			t.Errorf("500 more repetitions take %v allocations in place of %v", many, few)
		}
	}
}
