package listen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

// TestHolders compares with the rule in its plain form: whoever shares an
// address with an earlier Gateway that binds the port does not bind it.
func TestHolders(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	addresses := []string{"0.0.0.0", "::", "::1", "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}
	for range 2000 {
		var claims []*Claim
		for i := range random.IntN(6) {
			claim := &Claim{Name: fmt.Sprint("g/", i), Origin: &ir.Origin{}}
			for range random.IntN(3) {
				claim.Addresses = append(claim.Addresses, addresses[random.IntN(len(addresses))])
			}
			claims = append(claims, claim)
		}
		holders := Holders(slices.Clone(claims), func(*Claim) bool { return false })
		var binding []*Claim
		for _, claim := range claims {
			var rivals []string
			for _, other := range binding {
				if share(other.Addresses, claim.Addresses) {
					rivals = append(rivals, other.Name)
				}
			}
			if by := holders[claim.Name]; len(rivals) > 0 != (by != "") || by != "" && !slices.Contains(rivals, by) {
				t.Fatalf("%s is held by %q, one of %q expected", claim.Name, by, rivals)
			}
			if len(rivals) == 0 {
				binding = append(binding, claim)
			}
		}
	}
}

func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return x == y || unspecified(x) || unspecified(y) })
	})
}

// TestIncumbentsKeepTheirPort lets a claim that comes later by name go first, because its Gateway binds the port.
func TestIncumbentsKeepTheirPort(t *testing.T) {
	claim := func(name string, outside, set bool) *Claim {
		return &Claim{Name: name, Set: set, Origin: &ir.Origin{Outside: outside}, Addresses: []string{"127.0.0.1"}}
	}
	had := func(c *Claim) bool { return c.Name == "z" }
	for _, test := range []struct {
		first, incumbent *Claim
		loser            string
	}{
		{claim("a", true, false), claim("z", true, false), "a"},
		{claim("a", false, false), claim("z", true, false), "z"}, // the platform team's goes first
		{claim("a", true, false), claim("z", true, true), "z"},   // a listener of the Gateway itself goes first
	} {
		if losers := Holders([]*Claim{test.first, test.incumbent}, had); len(losers) != 1 || losers[test.loser] == "" {
			t.Errorf("%v lose, not %s", losers, test.loser)
		}
	}
}
