package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// TestAPolicyWithoutItsUsersStays: the users of a policy are not saved. After a restart, a policy whose file has a
// mistake protects the same targets, and nobody gets in. A policy that was deleted is gone.
func TestAPolicyWithoutItsUsersStays(t *testing.T) {
	const good = "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: users}\nspec:\n" +
		"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r, sectionName: admin}]\n  basicAuth: {users: [\"alice:" + hush + "\"]}\n"
	usersKey := manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: "default", Name: "users"}
	for name, test := range map[string]struct {
		text    string
		without bool
	}{
		"sound":         {good, false},
		"no YAML":       {strings.Replace(good, "[{", "[", 1), true},
		"unknown field": {strings.Replace(good, "basicAuth", "basicAuht", 1), true},
		"empty":         {"", true},
		"half of it":    {good[:len(good)/2], true},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"p.yaml": good, "r.yaml": route("r", "/1")}
			s, saved := newStore(t, saving), ledger{}
			s.Apply(treeOf(files))
			saved.take(s)
			saved.hushed(t)
			files["p.yaml"] = test.text
			for range 2 { // what is saved of it is saved again
				s = saved.restart(t, saving)
				problems := s.Apply(treeOf(files)).Problems
				told := slices.ContainsFunc(problems, func(p manifest.Problem) bool { return strings.Contains(p.Message, "its targets answer 500") })
				if told != test.without {
					t.Errorf("the problems are %+v", problems)
				}
				served := s.Served(usersKey)
				if served == nil || LacksUsers(served) != test.without {
					t.Fatalf("served is %+v, without users: %v", served, served != nil && LacksUsers(served))
				}
				if refs := Targets(served); len(refs) != 1 || refs[0].Section != "admin" {
					t.Errorf("its targets are %+v", refs)
				}
				saved.take(s)
				saved.hushed(t)
			}
			files["p.yaml"] = good
			s.Apply(treeOf(files))
			if served := s.Served(usersKey); served == nil || LacksUsers(served) {
				t.Error("after the fix its users do not get in")
			}
			s = saved.restart(t, saving)
			delete(files, "p.yaml")
			s.Apply(treeOf(files))
			if s.Served(usersKey) != nil {
				t.Error("a deleted policy stays")
			}
		})
	}
}

// TestAPolicyOutsideItsPathsStaysAfterARestart: where path policies are in force, a policy whose namespace is misspelt protects
// its targets after a restart, too.
func TestAPolicyOutsideItsPathsStaysAfterARestart(t *testing.T) {
	options := Options{Save: true, ClusterPaths: tenancy.Globs{"platform/**"}}
	policy := "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: users, namespace: shop}\nspec:\n" +
		"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}]\n  basicAuth: {users: [\"alice:" + hush + "\"]}\n"
	all := files{"platform/spaces.yaml": space("shop", "shop/**"), "shop/a.yaml": in("shop", "a", "/1"), "shop/p.yaml": policy}
	s, saved := newStore(t, options), ledger{}
	s.Apply(treeOf(all))
	saved.take(s)
	s = saved.restart(t, options)
	s.Apply(treeOf(all.with(files{"shop/p.yaml": strings.Replace(policy, "namespace: shop", "namespace: sohp", 1)})))
	served := s.Served(manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: "shop", Name: "users"})
	if !LacksUsers(served) {
		t.Errorf("served is %+v", served)
	}
}
