package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// A connected Envoy whose version has published vulnerabilities is a problem of its Gateway, with what to do. The file
// of --advisories says which versions have.
func TestAnEnvoyWithPublishedHolesIsAProblem(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	table := filepath.Join(t.TempDir(), "advisories.txt")
	if err := os.WriteFile(table, []byte("CVE-2030-0001 GHSA-aaaa-bbbb-cccc | 0 | 9.0.1 | a hole\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, "one")
	m.start("--advisories", table)
	m.waitFor("one", "a")
	m.shows("EnvoyVulnerable", "which has published vulnerabilities: CVE-2030-0001")
	m.shows("upgrade it to 9.0.1 or a newer version", "GHSA-aaaa-bbbb-cccc")
	m.metricIs(`gatefold_problems{code="EnvoyVulnerable",namespace="default",severity="warning"} 1`)
}
