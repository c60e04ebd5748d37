package engine

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store"
)

// What is wrong with the content of a Secret or ConfigMap that live objects use is an error of its own edit: the edit is not
// applied. A deletion takes effect, and so does an edit of a Secret of which nothing wrong is known.
func TestContentThatCannotBeUsedIsNotApplied(t *testing.T) {
	backend := "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: b}\nspec: {static: {hosts: [{host: 127.0.0.1, port: 1}]}}\n"
	tokens := "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: GatewayExtension\nmetadata: {name: tokens}\nspec: {jwt: {providers: [{name: p, issuer: https://a.example.com, jwks: {local: {configMapRef: {name: keys}}}}]}}\n"
	trust := "apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata: {name: trust}\nspec: {targetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}], validation: {hostname: a.example.com, caCertificateRefs: [{group: '', kind: ConfigMap, name: keys}]}}\n"
	https := strings.Replace(oneGateway, "protocol: HTTP,", "protocol: HTTPS, tls: {certificateRefs: [{name: keys}]},", 1)
	ca := envoytest.NewAuthority(t)
	certificate, key := ca.Issue("a.example.com")
	der, err := x509.MarshalPKIXPublicKey(ca.Pair("b.example.com").Leaf.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicKey := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	for name, test := range map[string]struct {
		files      map[string]string
		kind       string // of the object keys
		entry      string
		good, bad  string
		stage      store.Stage
		deletedToo string // what a deletion breaks, as a message
	}{
		"users":        {map[string]string{"p.yaml": guardWith("  basicAuth: {secretRef: {name: keys}}\n")}, "Secret", ".htpasswd", htpasswdAlice, "alice:{MD5}x", store.StageTranslate, "does not exist"},
		"keys":         {map[string]string{"p.yaml": guardWith("  apiKeyAuth: {secretRef: {name: keys}}\n")}, "Secret", "one", "key-one", "key\none", store.StageTranslate, "does not exist"},
		"tokens":       {map[string]string{"e.yaml": tokens, "p.yaml": guardWith("  jwt: {extensionRef: {name: tokens}}\n")}, "ConfigMap", "jwks", publicKey, "nonsense", store.StageTranslate, "does not exist"},
		"authorities":  {map[string]string{"b.yaml": backend, "t.yaml": trust}, "ConfigMap", "ca.crt", string(certificate), "nonsense", store.StageCheck, "does not exist"},
		"certificates": {map[string]string{"gateway.yaml": https}, "Secret", "tls.crt", string(certificate), "nonsense", store.StageCheck, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			p, r, _ := newTestPipeline(t)
			files := map[string]string{"gateway.yaml": oneGateway, "site.yaml": object("HTTPRoute", "site", false, routeTo("site.test"))}
			for file, text := range test.files {
				files[file] = text
			}
			content := func(value string) string {
				text := bytesOf(test.kind, "keys", test.entry, value)
				if name == "certificates" {
					text += fmt.Sprintf("type: kubernetes.io/tls\nstringData: {tls.key: %q}\n", key)
				}
				return text
			}
			files["keys.yaml"] = content(test.good)
			p.reload(treeOfFiles(files))
			for _, problem := range r.published[len(r.published)-1].Problems {
				if strings.Contains(problem.Message, "keys") {
					t.Fatalf("before the edit: %+v", problem)
				}
			}
			files["keys.yaml"] = content(test.bad)
			p.reload(treeOfFiles(files))
			stale := r.published[len(r.published)-1].Stale
			if len(stale) != 1 || stale[0].Key.Name != "keys" || stale[0].Stage != test.stage || stale[0].File != "keys.yaml" {
				t.Errorf("stale is %+v", stale)
			}
			for _, held := range p.reader.store.Held() {
				for _, problem := range held.Problems {
					if strings.Contains(problem.Hint, "answer 500") || !strings.Contains(problem.Message, "the version before it is still served") {
						t.Errorf("the problem is %+v", problem)
					}
				}
			}
			delete(files, "keys.yaml")
			p.reload(treeOfFiles(files))
			last := r.published[len(r.published)-1]
			if len(last.Stale) != 0 {
				t.Errorf("after the deletion, stale is %+v", last.Stale)
			}
			found := false
			for _, problem := range last.Problems {
				found = found || strings.Contains(problem.Message, test.deletedToo)
			}
			if !found {
				t.Errorf("after the deletion: %+v", last.Problems)
			}
		})
	}
}

// The status of a policy says that the new content of its ConfigMap cannot be used, although the content before it is in
// force: the conditions are those of the edit. An edit of something else does not change that.
func TestAPolicyWhoseContentIsNotAppliedSaysSo(t *testing.T) {
	certificate, _ := envoytest.NewAuthority(t).Issue("a.example.com")
	files := map[string]string{
		"gateway.yaml": oneGateway,
		"b.yaml":       "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: b}\nspec: {static: {hosts: [{host: 127.0.0.1, port: 1}]}}\n",
		"r.yaml":       object("HTTPRoute", "r", false, "parentRefs: [{name: eg}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}]"),
		"t.yaml":       "apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata: {name: trust}\nspec: {targetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}], validation: {hostname: a.example.com, caCertificateRefs: [{group: '', kind: ConfigMap, name: keys}]}}\n",
		"other.yaml":   "",
	}
	p, r, _ := newTestPipeline(t)
	for _, step := range []struct{ ca, other, want string }{
		{string(certificate), "", "True"},
		{"", "", "False"},
		{"", teamRoute("elsewhere", "x"), "False"},
		{string(certificate), teamRoute("elsewhere", "x"), "True"},
	} {
		files["keys.yaml"], files["other.yaml"] = bytesOf("ConfigMap", "keys", "ca.crt", step.ca), step.other
		p.reload(treeOfFiles(files))
		got := ""
		for _, result := range r.published {
			for _, u := range result.Status {
				if policy, ok := u.Status.(*gwv1.PolicyStatus); ok && u.Key.Name == "trust" {
					got = string(meta.FindStatusCondition(policy.Ancestors[0].Conditions, "Accepted").Status)
				}
			}
		}
		if stale := len(r.published[len(r.published)-1].Stale); got != step.want || (stale == 1) != (step.want == "False") {
			t.Errorf("with %.10q: Accepted is %s, want %s, and %d objects are stale", step.ca, got, step.want, stale)
		}
	}
}
