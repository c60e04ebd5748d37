package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomTrust returns a ConfigMap with authorities, without, or with what is none.
func randomTrust(r *rand.Rand) (string, string) {
	text := pick(r, firstCertificate, secondCertificate, firstCertificate+"\n"+secondCertificate, "", "junk")
	body := "data:\n  ca.crt: |\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
	return document("v1", "ConfigMap", namespace(r), pick(r, "x", "z"), body)
}

// randomTLSPolicy returns a policy for a backend or one of its ports.
func randomTLSPolicy(r *rand.Rand) (string, string) {
	target := pick(r, `{group: "", kind: Service, name: s1`, `{group: "", kind: Service, name: s2`, "{group: gateway.kgateway.dev, kind: Backend, name: s1") +
		pick(r, "", "", ", sectionName: a", ", sectionName: c") + "}"
	ref := func() string {
		return `{group: "", kind: ` + pick(r, "ConfigMap", "ConfigMap", "Secret", "Service") + ", name: " + pick(r, "x", "z") + "}"
	}
	trust := pick(r, "wellKnownCACertificates: System", "caCertificateRefs: ["+ref()+"]", "caCertificateRefs: ["+ref()+", "+ref()+"]")
	body := randomAge(r) + fmt.Sprintf("spec:\n  targetRefs: [%s]\n  validation: {%s, hostname: %s%s}\n", target, trust, pick(r, "a.example.com", "b.example.com"),
		pick(r, "", `, subjectAltNames: [{type: URI, uri: "spiffe://a/b"}]`)) + pick(r, "", "", "  options: {x/y: z}\n")
	return document("gateway.networking.k8s.io/v1", "BackendTLSPolicy", namespace(r), pick(r, "t1", "t2", "t3"), body)
}

// randomGatewayTLS returns a Gateway's spec.tls, or nothing.
func randomGatewayTLS(r *rand.Rand) string {
	ref := func() string {
		return `{group: "", kind: ` + pick(r, "ConfigMap", "ConfigMap", "Service") + ", name: " + pick(r, "x", "z") + ", namespace: " + namespace(r) + "}"
	}
	frontend := "    frontend: {default: {validation: {caCertificateRefs: [" + ref() + "]" + pick(r, "", ", mode: AllowInsecureFallback") + "}}" +
		pick(r, "", ", perPort: [{port: 443, tls: {}}]", ", perPort: [{port: 443, tls: {validation: {caCertificateRefs: ["+ref()+"]}}}]") + "}\n"
	backend := "    backend: {clientCertificateRef: {name: " + pick(r, "x", "z") + ", namespace: " + namespace(r) + "}}\n"
	return pick(r, "", "", "", "  tls:\n"+frontend, "  tls:\n"+backend, "  tls:\n"+frontend+backend)
}

// TestRandomFoldersSpeakTLS guards TestIncrementalEqualsCold against edits that never
// make a backend speak TLS, or close one.
func TestRandomFoldersSpeakTLS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	w, files := newWorld(t), map[string]string{}
	policies, trusts, closed := map[string]bool{}, map[string]bool{}, 0
	for range 600 {
		randomEdit(r, files)
		w.apply(tree(files))
		for _, cluster := range w.view().Clusters {
			if cluster.Closed != "" {
				closed++
			}
			if cluster.TLS != nil {
				policies[fmt.Sprint(cluster.Name, *cluster.TLS)] = true
			}
		}
		for name, update := range w.resources {
			if strings.Contains(name, "/ca.crt") {
				trusts[name+update.Resource.Version] = true
			}
		}
	}
	if len(policies) < 3 || len(trusts) < 3 || closed == 0 {
		t.Fatalf("%d kinds of TLS, %d of authorities, %d closed: the random edits prove nothing of TLS", len(policies), len(trusts), closed)
	}
}
