package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gatefold/gatefold/envoy/advisory"
	"github.com/gatefold/gatefold/store/manifest"
)

// Each version with published vulnerabilities is one problem of its fleet, while at least one Envoy of it is connected. What is
// no Envoy, and what has no known version, is none.
func TestEnvoysWithPublishedHolesAreProblems(t *testing.T) {
	file := filepath.Join(t.TempDir(), "advisories.txt")
	if err := os.WriteFile(file, []byte("CVE-2030-0001 | 0 | 1.37.5 1.38.4 | one\nCVE-2030-0002 GHSA-aaaa-bbbb-cccc | 0 | 1.38.6 | two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := advisory.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	var reported [][]manifest.Problem
	h := newHoles(Options{Advisories: table, Vulnerable: func(problems []manifest.Problem) { reported = append(reported, problems) }})
	envoy := func(gateway, version string) *stream {
		return &stream{scope: newScope(gateway), version: version, isEnvoy: true}
	}
	first, second, union := envoy("shop/a", "1.38.3"), envoy("shop/a", "1.38.3"), envoy("", "1.38.5")
	other := envoy("shop/a", "1.38.3")
	other.isEnvoy = false
	for _, st := range []*stream{first, envoy("shop/a", "1.38.6"), envoy("shop/a", ""), other, second, union} {
		h.add(st, 1)
	}
	if len(reported) != 2 || len(reported[0]) != 1 || len(reported[1]) != 2 {
		t.Fatalf("%+v", reported)
	}
	ofAll, ofOne := reported[1][0], reported[1][1]
	want := manifest.Problem{
		Code: "EnvoyVulnerable", Severity: manifest.Warning,
		Message: "an Envoy of version 1.38.5 is connected, which has published vulnerabilities: CVE-2030-0002. It is served all the same",
		Hint:    "upgrade it to 1.38.6 or a newer version: https://github.com/envoyproxy/envoy/security/advisories/GHSA-aaaa-bbbb-cccc",
	}
	if ofAll != want {
		t.Errorf("%+v", ofAll)
	}
	if ofOne.Object.String() != "Gateway shop/a" || ofOne.Message != "an Envoy of version 1.38.3 is connected, which has published vulnerabilities: CVE-2030-0001, CVE-2030-0002. It is served all the same" {
		t.Errorf("%+v", ofOne)
	}
	h.add(first, -1)
	if len(reported) != 2 {
		t.Error("the problem changed while an Envoy of the version is connected")
	}
	h.add(second, -1)
	h.add(union, -1)
	if len(reported) != 4 || len(reported[3]) > 0 || len(h.count) > 0 {
		t.Errorf("%+v", reported)
	}
}
