package store

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// TestWhoMakesAMissingSecret: the help for a missing Secret names the object of the folder of which another program makes
// it in a cluster, also when that object comes later, and no object that makes another one.
func TestWhoMakesAMissingSecret(t *testing.T) {
	missing := []manifest.Problem{
		{Object: routeKey("a"), Field: "spec", Message: "Secret shop/cert does not exist, or cannot be read", Hint: "create it"},
		{Object: routeKey("a"), Field: "spec", Message: "Secret shop/other does not exist", Hint: "create it"},
	}
	for text, want := range map[string]string{
		"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: web, namespace: shop}\nspec: {secretName: cert}\n":                         "Certificate shop/web (makers.yaml:2)",
		"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: cert, namespace: shop}\nspec: {}\n":                                 "ExternalSecret shop/cert (makers.yaml:2)",
		"apiVersion: external-secrets.io/v1beta1\nkind: ExternalSecret\nmetadata: {name: x, namespace: shop}\nspec: {target: {name: cert}}\n":           "ExternalSecret shop/x (makers.yaml:2)",
		"apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: cert, namespace: shop}\n":                                               "SealedSecret shop/cert (makers.yaml:2)",
		"apiVersion: secrets.hashicorp.com/v1beta1\nkind: VaultStaticSecret\nmetadata: {name: v, namespace: shop}\nspec: {destination: {name: cert}}\n": "VaultStaticSecret shop/v (makers.yaml:2)",
		"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: web}\nspec: {secretName: cert}\n":                                          "",
		"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: cert, namespace: shop}\nspec: {target: {name: tls}}\n":              "",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: cert, namespace: shop}\n":                                                              "",
	} {
		s := newStore(t, Options{})
		s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/1")}))
		if got := s.Locate(missing); got[0].Hint != "create it" {
			t.Errorf("before: %q", got[0].Hint)
		}
		s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/1"), "makers.yaml": text}))
		got := map[string]string{}
		for _, p := range s.Locate(missing) {
			got[p.Message] = p.Hint
		}
		hint := got[missing[0].Message]
		if want == "" && hint != "create it" || !strings.Contains(hint, want) || got[missing[1].Message] != "create it" {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
