package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Two pairs of certificate and key that nothing but tests use, until 2126.
const (
	firstCertificate = `-----BEGIN CERTIFICATE-----
MIIBqjCCAVCgAwIBAgIUe/5jLw1p4/1+UE6InAxnDl7qDTgwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQc2hvcC5leGFtcGxlLmNvbTAgFw0yNjExMjExMzAyNDNaGA8y
MTI2MTAyODEzMDI0M1owGzEZMBcGA1UEAwwQc2hvcC5leGFtcGxlLmNvbTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABC1Fj01MZ3AiOQA4/j4RaQisU1zHBzLoQ9D2
VlIWWaJfbvFMGfIryLXPGNbPJcuvN4G01JjfJDn/0td4SvYnOOKjcDBuMB0GA1Ud
DgQWBBRnDGvDZ2bO8YIk1BMcLWQe0BhdVDAfBgNVHSMEGDAWgBRnDGvDZ2bO8YIk
1BMcLWQe0BhdVDAPBgNVHRMBAf8EBTADAQH/MBsGA1UdEQQUMBKCEHNob3AuZXhh
bXBsZS5jb20wCgYIKoZIzj0EAwIDSAAwRQIhAKBMzVddsgwvrQ3/EZsPS7jh1+jV
4uXP/ROe9TmevITlAiAomn2lcux/ez0wZzgfv4UoYNpZcVO8nVZN4cLnUnlPOA==
-----END CERTIFICATE-----`
	firstKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgirrDt3XrsGS7t6O+
+0oAfFvhCVkAZm5dPhyerYl8+AmhRANCAAQtRY9NTGdwIjkAOP4+EWkIrFNcxwcy
6EPQ9lZSFlmiX27xTBnyK8i1zxjWzyXLrzeBtNSY3yQ5/9LXeEr2Jzji
-----END PRIVATE KEY-----`
	secondCertificate = `-----BEGIN CERTIFICATE-----
MIIBoTCCAUegAwIBAgIUE1rwKslsxfAj6fyFH55r3Xfae4IwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNKi5leGFtcGxlLmNvbTAgFw0yNjExMjExMzAyNDNaGA8yMTI2
MTAyODEzMDI0M1owGDEWMBQGA1UEAwwNKi5leGFtcGxlLmNvbTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABCogom6OyuMgFEquC8XuFHVjljPn+7D7Mq2/bctwRLGT
X5NCwCo6lACprcbNgNE9tFHBovsYUZEM0QRT/cpvoXyjbTBrMB0GA1UdDgQWBBQZ
25PWd8+ksL+wpV80FJYsqO05qjAfBgNVHSMEGDAWgBQZ25PWd8+ksL+wpV80FJYs
qO05qjAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDSouZXhhbXBsZS5jb20w
CgYIKoZIzj0EAwIDSAAwRQIhANDyK3Jcg7SkJYBD0hk6i/LGGIIGD4YhEfU+2uht
w2GbAiA1TZc/q9F7mRHj7aSg9BdB4Tyl1LUtgAliSj996Suoeg==
-----END CERTIFICATE-----`
	secondKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgawsg+sWR0Kt15czN
oe6Qivwn03vG2l1Mhs66Wl4Km/6hRANCAAQqIKJujsrjIBRKrgvF7hR1Y5Yz5/uw
+zKtv23LcESxk1+TQsAqOpQAqa3GzYDRPbRRwaL7GFGRDNEEU/3Kb6F8
-----END PRIVATE KEY-----`
)

// randomHTTPS returns ports and protocols of HTTPS listeners, some on one port.
func randomHTTPS(r *rand.Rand) []string {
	var out []string
	for _, hostname := range []string{"", "a.example.com", "*.example.com"} {
		listener := "443, protocol: HTTPS"
		if hostname != "" {
			listener += fmt.Sprintf(", hostname: %q", hostname)
		}
		refs := fmt.Sprintf("{name: %s, namespace: %s}", pick(r, "x", "z"), namespace(r)) + pick(r, "", ", {name: z}")
		out = append(out, listener+", tls: {certificateRefs: ["+refs+"]"+pick(r, "", "", ", options: {gatefold.io/min-tls-version: \"1.3\"}", ", options: {x/y: z}")+"}")
	}
	return out
}

// randomSecret returns a Secret that is sound, of another type, or broken.
func randomSecret(r *rand.Rand) (string, string) {
	certificate, key := firstCertificate, firstKey
	if r.IntN(2) == 0 {
		certificate, key = secondCertificate, secondKey
	}
	key = pick(r, key, key, key, firstKey, "junk")
	indent := func(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }
	body := fmt.Sprintf("type: %s\nstringData:\n  tls.crt: |\n    %s\n  tls.key: |\n    %s\n",
		pick(r, "kubernetes.io/tls", "kubernetes.io/tls", "kubernetes.io/tls", "Opaque"), indent(certificate), indent(key))
	return document("v1", "Secret", namespace(r), pick(r, "x", "z"), body)
}

// TestRandomFoldersServeHTTPS guards the test above against edits that never make a
// listener serve with a certificate.
func TestRandomFoldersServeHTTPS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	w, files := newWorld(t), map[string]string{}
	certificates := map[string]bool{}
	for range 1200 {
		randomEdit(r, files)
		w.apply(tree(files))
		for _, c := range w.last.Certificates {
			certificates[c.Secret.String()+c.Sum] = true
		}
	}
	if len(certificates) < 3 {
		t.Fatalf("%d certificates have served: the random edits prove nothing of HTTPS", len(certificates))
	}
}
