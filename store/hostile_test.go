package store

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// bombs are texts that must be rejected, each by its code, without running away.
func bombs() map[string]string {
	const mebibyte = 1 << 20
	const ours = "# gatefold\n" // else it would be a text of another program, which is not used
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	var merges strings.Builder
	merges.WriteString("m0: &m0 {a: 1, b: 2, c: 3}\n")
	for i := range 20 {
		fmt.Fprintf(&merges, "m%d: &m%d {<<: [%s]}\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*m%d, ", i), 10), ", "))
	}
	return map[string]string{
		"TooManyAliases of nothing":          strings.Replace(merges.String(), "{a: 1, b: 2, c: 3}", "{}", 1),
		"TooManyAliases":                     aliases.String(),
		"TooManyAliases merged":              merges.String(),
		"AliasCycle":                         "a: &a {b: [*a]}\n",
		"AliasCycle merged":                  "a: &a\n  <<: *a\n",
		"TooDeep":                            strings.Repeat("[", 65) + strings.Repeat("]", 65),
		"TooDeep by thousands":               ours + strings.Repeat("[", 290_000),
		"TooDeep in blocks":                  ours + strings.Repeat("- ", 20_000) + "x",
		"TooDeep in mappings":                strings.Repeat("{a: ", 65) + strings.Repeat("}", 65),
		"DocumentTooLarge":                   ours + strings.Repeat("[],", 5*mebibyte),
		"DocumentTooLarge lines":             ours + strings.Repeat("a: b\n", 3*mebibyte),
		"DuplicateKey":                       ours + strings.Repeat("a: b\n", 100_000),
		"InvalidUTF8":                        "a: \xff\n",
		"InvalidUTF8 UTF-16":                 "\xff\xfea\x00:\x00",
		"BinaryFile NUL":                     "a: \x00\n",
		"InvalidYAML quote":                  ours + "a: \"" + strings.Repeat("x\n", 250_000),
		"InvalidYAML line":                   ours + "a: b: " + strings.Repeat("x", 15*mebibyte),
		"InvalidYAML tabs":                   ours + strings.Repeat("\t", 15*mebibyte) + "a: b",
		"RequiredField comments":             "kind: HTTPRoute\na: b\n" + strings.Repeat("#\n", 250_000),
		"RequiredField text":                 "kind: HTTPRoute\na: |\n" + strings.Repeat(" x y z w\n", 250_000),
		"RequiredField long line":            "kind: HTTPRoute\na: " + strings.Repeat("x", 15*mebibyte),
		"TooMany rules":                      "kind: HTTPRoute\napiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: a}\nspec: {rules: [" + strings.Repeat("{},", maxNodes/2-20) + "]}",
		"MoreProblems of a list":             "kind: List\napiVersion: v1\nitems: [" + strings.Repeat("{},", maxNodes/2-20) + "]",
		"RequiredField keys":                 manyKeys(50_000),
		"MoreProblems":                       strings.Repeat(ours+"a: [\n---\n", 15_000),
		"InvalidValue key of 4,000,000 bits": tlsSecret(4_000_000),
		"InvalidValue key of 8,200 bits":     tlsSecret(8_200),
		"TooManyDocuments":                   strings.Repeat("a\n---\n", 2*mebibyte),
	}
}

// tlsSecret is a Secret with a good certificate, and an RSA key with numbers of so many bits: crypto/x509 would take
// minutes for a million.
func tlsSecret(bits int) string {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"a.test"}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
	if err != nil {
		panic(err)
	}
	huge := new(big.Int).SetBit(big.NewInt(1), bits-1, 1)
	half := new(big.Int).Rsh(huge, uint(bits/2))
	key, err := asn1.Marshal(struct{ V, N, E, D, P, Q, X, Y, Z *big.Int }{new(big.Int), huge, big.NewInt(65537), huge, half, half, half, half, half})
	if err != nil {
		panic(err)
	}
	text := func(label string, der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/tls\ndata: {tls.crt: %s, tls.key: %s}\n",
		text("CERTIFICATE", certificate), text("RSA PRIVATE KEY", key))
}

func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString("kind: HTTPRoute\n")
	for i := range n {
		fmt.Fprintf(&b, "key%d: 1\n", i)
	}
	return b.String()
}

// TestBombs wants each bomb rejected with a problem, the object beside it
// served, and memory kept within what a file of 16 MiB may cost.
func TestBombs(t *testing.T) {
	for name, bomb := range bombs() {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, Options{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c := s.Apply(treeOf(map[string]string{"bomb.yaml": bomb, "sound.yaml": route("a", "/1")}))
			runtime.ReadMemStats(&after)
			code, _, _ := strings.Cut(name, " ")
			found := false
			for _, p := range c.Problems {
				found = found || p.Code == code && p.File == "bomb.yaml"
				if len(p.Message)+len(p.Hint)+len(p.Excerpt)+len(p.Field) > 2000 {
					t.Errorf("a problem of %d bytes", len(p.Message)+len(p.Hint)+len(p.Excerpt)+len(p.Field))
				}
			}
			if !found || len(c.Set) != 1 || len(c.Problems) > maxProblems+1 {
				t.Errorf("%d objects, problems %.300q", len(c.Set), summary(c))
			}
			if total := after.TotalAlloc - before.TotalAlloc; total > 512<<20 {
				t.Errorf("%d MiB were allocated in all", total>>20)
			}
			t.Logf("%d MiB allocated", (after.TotalAlloc-before.TotalAlloc)>>20)
		})
	}
}

// FuzzDecode reads any text as a file: nothing may crash or run away, each
// problem must lie in the file, and what is read must be what kubectl reads.
func FuzzDecode(f *testing.F) {
	for _, bomb := range bombs() {
		if len(bomb) < 10_000 {
			f.Add(bomb)
		}
	}
	f.Add(route("a", "/1") + "--- # two\n" + route("b", "/2") + "...\n%YAML 1.1\n---\nkind: List\nitems: [1, {kind: Secret}]\n")
	f.Add("a: 017\r\nb: [on, 1e3, .inf, ~, <<]\r\n? c\r\n: {<<: {a: 1}, !!int \"5\": *x}\u2028d: &x 2001-01-01\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		s := newStore(t, Options{})
		lines := strings.Count(text, "\n") + 1
		for _, p := range s.Apply(treeOf(map[string]string{"a.yaml": text})).Problems {
			if p.Line < 0 || p.Line > lines || p.Column < 0 || p.Message == "" || p.Text(true) == "" {
				t.Errorf("%+v in a text of %d lines", p, lines)
			}
		}
		for key := range s.serving.served {
			for _, field := range []string{"", "metadata.name", "spec.rules[0].matches[0].path.value", text[:min(len(text), 40)]} {
				s.Locate([]manifest.Problem{{Object: key, Field: field}})
			}
		}
		for _, p := range splitDocuments([]byte(text)) {
			agrees(t, string(p.text))
		}
	})
}

// agrees checks that a document which both we and kubectl can read means the
// same to both. Left out are the tag "!", which the parser does not tell us of,
// and heaps of aliases, over which kubectl's parser broods.
func agrees(t *testing.T, text string) {
	if strings.Contains(text, "!") || strings.Count(text, "*") > 10 {
		return
	}
	got, problems, err := decodeText(text)
	if err != nil || len(problems) > 0 {
		return
	}
	want, err := asKubectl(text)
	if err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q: got %#v, kubectl has %#v", text, got, want)
	}
}
