package translate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// Envoy sends the client's secret to the backend of the token endpoint: without TLS that is a warning,
// but for loopback. Nothing is closed by it.
func TestClientSecretsInClearText(t *testing.T) {
	const backend, tls = "192.0.2.1", `apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: s1}
spec:
  targetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: s1}]
  validation: {hostname: idp.test, wellKnownCACertificates: System}
`
	w := newWorld(t)
	w.discover(translate.Discoveries{"https://idp.test/realm": testAnswer})
	files := map[string]string{"login.yaml": discovering}
	for _, step := range []struct {
		host, tls string
		warns     bool
	}{
		{backend, "", true},
		{backend, tls, false},
		{"idp.test", "", true},
		{"127.0.0.1", "", false},
		{"'::1'", "", false},
		{backend, "", true},
	} {
		files["base.yaml"] = strings.Replace(guarded, backend, step.host, 1)
		files["tls.yaml"] = step.tls + "# the policy, if any\n"
		w.apply(tree(files))
		w.checkCold(t)
		warns := slices.ContainsFunc(w.problems, func(p manifest.Problem) bool {
			return p.Code == "ClientSecretInClearText" && p.Severity == manifest.Warning && p.Object.Name == "login" && p.Field == "spec.oauth2.backendRef"
		})
		if warns != step.warns {
			t.Errorf("backend %s, policy %q: %+v", step.host, step.tls, w.problems)
		}
		if !strings.Contains(w.tables(), testAnswer.Token) {
			t.Errorf("backend %s: the policy is not served", step.host)
		}
	}
}
