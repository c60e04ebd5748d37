package listen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHolders compares with the rule in its plain form: whoever shares an
// address with an earlier Gateway that binds the port does not bind it.
func TestHolders(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	addresses := []string{"0.0.0.0", "::", "::1", "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}
	for range 2000 {
		var claims []*Claim
		for i := range random.IntN(6) {
			claim := &Claim{Name: fmt.Sprint("g/", i)}
			for range random.IntN(3) {
				claim.Addresses = append(claim.Addresses, addresses[random.IntN(len(addresses))])
			}
			claims = append(claims, claim)
		}
		holders := Holders(claims)
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
