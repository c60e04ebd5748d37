package tenancy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestOwners(t *testing.T) {
	p := New(Globs{"platform/**"})
	p.Declare("shop", []Grant{{Paths: Globs{"teams/shop/**", "shared/*.yaml"}}})
	p.Declare("cart", []Grant{{Paths: Globs{"shared/**"}}, {Paths: Globs{"**/cart.yaml"}}})
	p.Declare("all", []Grant{{Paths: Globs{"**/all/x.yaml", "one.yaml"}}})
	p.Declare("open", []Grant{{}})
	for file, want := range map[string]string{
		"teams/shop/a.yaml": "shop", "teams/shop/b/c.yaml": "shop", "teams/shopping/a.yaml": "", "teams/shop/all/x.yaml": "all shop",
		"shared/cart.yaml": "cart shop", "shared/a.yaml": "shop", "shared/b/cart.yaml": "cart", "one.yaml": "all", "two.yaml": "", "": "",
	} {
		if got := strings.Join(p.Owners().Of(file), " "); got != want {
			t.Errorf("%s belongs to %q, want %q", file, got, want)
		}
	}
	if o := p.Owners(); !o.Cluster("platform/a.yaml") || o.Cluster("teams/shop/a.yaml") {
		t.Error("wrong cluster paths")
	}
}

// TestOwnersAreThoseWhoMayDefine compares with CheckNamespace on random patterns and paths.
func TestOwnersAreThoseWhoMayDefine(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	path := func(parts ...string) string {
		var all []string
		for range 1 + rnd.IntN(4) {
			all = append(all, parts[rnd.IntN(len(parts))])
		}
		return strings.Join(all, "/")
	}
	for range 2000 {
		p := New(Globs{"platform/**"})
		for i := range 1 + rnd.IntN(3) {
			var grants []Grant
			for range 1 + rnd.IntN(2) {
				grants = append(grants, Grant{Paths: Globs{path("a", "b", "*", "**", "?", "[ab]", `\a`), path("a", "b", "**")}})
			}
			p.Declare(fmt.Sprint("n", i), grants)
		}
		file, o := path("a", "b", "c"), p.Owners()
		for namespace := range p.declared {
			if got, want := slices.Contains(o.Of(file), namespace), p.CheckNamespace(file, namespace) == (Violation{}); got != want {
				t.Fatalf("%s belongs to %s: %t, want %t; %+v", file, namespace, got, want, p.declared)
			}
		}
	}
}
