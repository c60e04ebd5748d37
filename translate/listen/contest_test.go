package listen

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Two patterns meet in holdings exactly when one covers the other.
func TestHoldingsMeetWhereHostsDo(t *testing.T) {
	patterns := []string{"*", "*.com", "*.example.com", "example.com", "a.example.com", "*.a.example.com", "b.a.example.com", "b.example.com", "*.net"}
	for _, a := range patterns {
		for _, b := range patterns {
			h := newHoldings()
			h.take(&Contender{Origin: &ir.Origin{}, Domains: []string{a}})
			wide := func(s string) string {
				if s == "*" {
					return ""
				}
				return s
			}
			want := covers(wide(a), wide(b)) || covers(wide(b), wide(a))
			if _, got := h.holder(b); got != want {
				t.Errorf("%s and %s have hosts in common: %v, want %v", a, b, got, want)
			}
		}
	}
}

// The older of two routes is taken; one that is rejected rejects nobody.
func TestContestTakesExactlyOneOfTwo(t *testing.T) {
	route := func(kind string, age int, domains ...string) *Contender {
		key := manifest.Key{Kind: kind, Name: fmt.Sprint(kind, age)}
		return &Contender{Origin: &ir.Origin{Key: key, Created: time.Unix(int64(age), 0)}, Domains: domains}
	}
	h1, g2, h3, g4 := route("HTTPRoute", 1, "a.com"), route("GRPCRoute", 2, "a.com", "b.com"), route("HTTPRoute", 3, "b.com"), route("GRPCRoute", 4, "*")
	lost := Contest([]*Contender{h1, g2, h3, g4})
	var names []string
	for key := range lost {
		names = append(names, key.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"GRPCRoute2", "GRPCRoute4"}) || lost[g2.Origin.Key].By != h1.Origin.Key {
		t.Errorf("lost: %v", lost)
	}
}
