package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// gatewayOf is a Gateway of a team, said to be older than any other.
func gatewayOf(t *testing.T, namespace string) string {
	t.Helper()
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: zz, namespace: %s, creationTimestamp: "1970-01-01T00:00:00Z"}
spec:
  gatewayClassName: gatefold
  addresses: [{value: 127.0.0.1}]
  listeners: [{name: http, port: %d, protocol: HTTP}]
`, namespace, envoytest.FreePort(t))
}

// A team makes more Gateways than Envoys may run: those that run stay, also after a restart,
// and the Gateway that came too many says so. It has an Envoy when there is room.
func TestHostModeBoundsEnvoys(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m := newMachine(t, "one")
	m.start("--max-envoys", "2", "--envoy-keep")
	m.waitFor("one", "a")
	first := m.pid()
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{m.target("one", "a", "b")}})
	m.write("a1.yaml", gatewayOf(t, "aaa"))
	m.shows("aaa/zz", "running")
	m.write("a2.yaml", gatewayOf(t, "aab"))
	m.shows("aab/zz", "over-limit", "--max-envoys")
	m.shows("Gateway", "aab/zz", "Programmed")
	m.shows("a2.yaml:3", "TooManyEnvoys", "--max-envoys")
	m.metricIs(`gatefold_problems{code="TooManyEnvoys",namespace="aab",severity="error"} 1`)
	if _, page, err := (&client{address: m.admin, timeout: patience}).get(t.Context(), "/api/v1/problems"); err != nil || !strings.Contains(string(page), `"TooManyEnvoys"`) {
		t.Errorf("%s %v", page, err)
	}
	m.write("one.yaml", m.route("one", "b"))
	m.waitFor("one", "b")
	m.stop(syscall.SIGTERM)
	m.write("a3.yaml", gatewayOf(t, "aa0"))
	m.start("--max-envoys", "2", "--envoy-keep")
	m.shows("aa0/zz", "over-limit")
	m.shows("aab/zz", "over-limit")
	m.shows("default/eg", "running (adopted)", fmt.Sprint(first))
	wantNoFailure(t, load, 200)
	for _, file := range []string{"a1.yaml", "a3.yaml"} {
		if err := os.Remove(filepath.Join(m.folder, file)); err != nil {
			t.Fatal(err)
		}
	}
	m.shows("aab/zz", "running")
	m.logs("fixed: this Gateway has no Envoy")
	m.stop(syscall.SIGINT)
}

// gatefold is killed between the start of an Envoy and its run file, or the file is lost: the
// next one finds the Envoy, and there is one of it.
func TestHostModeFindsOrphans(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m := newMachine(t, "one")
	m.start("--envoy-keep")
	m.waitFor("one", "a")
	envoy := m.pid()
	path := filepath.Join(m.run, "default.eg.run.json")

	m.stop(syscall.SIGKILL)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begun := map[string]any{}
	if err := json.Unmarshal(text, &begun); err != nil {
		t.Fatal(err)
	}
	begun["pid"], begun["start"] = 0, 0 // as it is before the start
	if text, err = json.Marshal(begun); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	m.write("one.yaml", m.route("one", "b"))
	m.start("--envoy-keep")
	m.waitFor("one", "b")
	m.shows("default/eg", "running (adopted)", fmt.Sprint(envoy))

	m.stop(syscall.SIGKILL)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	m.write("one.yaml", m.route("one", "a"))
	m.start("--envoy-keep", "--envoy-drain", "1s")
	m.logs("an Envoy without a run file is found")
	m.waitFor("one", "a")
	m.shows("default/eg", "running, epoch 1") // it was started in a way that is not known
	if now := m.pid(); now == envoy {
		t.Errorf("Envoy %d stays", now)
	}
	m.stop(syscall.SIGINT)
}
