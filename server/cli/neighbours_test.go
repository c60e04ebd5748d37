package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// neighbours are a platform, whose files stand in the folder itself, and a team that writes
// into the folder attacker/ and takes the platform's ports and hosts.
type neighbours struct {
	*served
	t    testing.TB
	host string
	port string
}

// newNeighbours prepares them; nothing runs yet. The route /one is the platform's, which
// lets routes and ListenerSets of all namespaces attach to its Gateway.
func newNeighbours(t testing.TB, s *served) *neighbours {
	t.Helper()
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	n := &neighbours{served: s, t: t, host: host, port: port}
	s.write("gateway.yaml", fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  addresses: [{value: %s}]
  allowedListeners: {namespaces: {from: All}}
  listeners: [{name: http, port: %s, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
`, host, port))
	s.write("namespaces.yaml", `apiVersion: v1
kind: Namespace
metadata: {name: default, annotations: {gatefold.io/paths: "*.yaml"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: attacker, annotations: {gatefold.io/paths: attacker/**}}
---
apiVersion: v1
kind: Namespace
metadata: {name: granted, annotations: {gatefold.io/paths: granted/**, gatefold.io/gateway-ports: "`+port+`"}}
`)
	n.attack("attacker", strings.ReplaceAll(s.backend("b", "b"), "name: b", "name: b, namespace: attacker"))
	n.attack("granted", strings.ReplaceAll(s.backend("b", "b"), "name: b", "name: b, namespace: granted"))
	return n
}

// attack writes the file evil.yaml of a team.
func (n *neighbours) attack(team, text string) {
	n.t.Helper()
	temporary := filepath.Join(n.folder, ".evil")
	err := errors.Join(
		os.MkdirAll(filepath.Join(n.folder, team), 0o700), os.WriteFile(temporary, []byte(text), 0o600),
		os.Rename(temporary, filepath.Join(n.folder, team, "evil.yaml")),
	)
	if err != nil {
		n.t.Fatal(err)
	}
}

// told waits until a problem names a file.
func (n *neighbours) told(code, file string) {
	n.t.Helper()
	envoytest.Wait(n.t, code+" at "+file, func() error {
		var out bytes.Buffer
		Main([]string{"status", "--admin-address", n.admin}, &out, &out)
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, file) && strings.Contains(line, code) {
				return nil
			}
		}
		return errors.New(out.String())
	})
}

// attacks are tried one after the other, with the problem that each is.
func (n *neighbours) attacks() []struct{ team, code, text string } {
	gateway := func(namespace, metadata, spec, listener string) string {
		return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: aa, namespace: %s%s}
spec: {gatewayClassName: gatefold, %s, listeners: [{name: http, port: %s, %s}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: all, namespace: %[1]s}
spec: {parentRefs: [{name: aa}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}]}
`, namespace, metadata, spec, n.port, listener)
	}
	here, old := "addresses: [{value: "+n.host+"}]", `, creationTimestamp: "1970-01-01T00:00:00Z"`
	http := "protocol: HTTP, allowedRoutes: {namespaces: {from: All}}"
	set := fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: aa, namespace: attacker, creationTimestamp: "1970-01-01T00:00:00Z"}
spec: {parentRef: {name: eg, namespace: default}, listeners: [{name: a, port: %s, protocol: HTTP, hostname: %q}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: all, namespace: attacker}
spec: {parentRefs: [{kind: ListenerSet, name: aa}], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]}]}
`, n.port, n.host)
	indented := strings.ReplaceAll(strings.SplitN(gateway("attacker", "", here, http), "---", 2)[0], "\n", "\n  ")
	return []struct{ team, code, text string }{
		{"attacker", "PortNotAllowed", gateway("attacker", "", here, http)},
		{"attacker", "PortNotAllowed", gateway("attacker", old, here, http)},
		{"attacker", "PortNotAllowed", gateway("attacker", old, "addresses: [{value: 0.0.0.0}]", http)},
		{"attacker", "PortNotAllowed", gateway("attacker", old, here, "protocol: TCP")},
		{"attacker", "PortNotAllowed", gateway("attacker", old, here, "protocol: TLS, tls: {mode: Passthrough}")},
		{"attacker", "PortNotAllowed", set},
		{"attacker", "PortNotAllowed", "apiVersion: v1\nkind: List\nitems:\n- " + indented},
		{"attacker", "OutsideFence", strings.ReplaceAll(gateway("granted", old, here, http), "kind: HTTPRoute", "kind: TCPRoute")},
		{"attacker", "OutsideFence", "apiVersion: v1\nkind: Namespace\nmetadata: {name: attacker, annotations: {gatefold.io/gateway-ports: \"1-65535\"}}\n---\n" + gateway("attacker", old, here, http)},
		{"attacker", "UnknownField", gateway("attacker", old+", annotations: {gatefold.io/gateway-ports: \"1-65535\"}", here, http)},
		{"granted", "AddressNotUsable", gateway("granted", old, here, http)},
		{"granted", "AddressNotUsable", gateway("granted", "", "addresses: [{value: 0.0.0.0}]", http)},
	}
}

// run tries all attacks while requests run to the platform's route and its edits are served.
func (n *neighbours) run(t *testing.T) {
	t.Helper()
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{n.target("one", "a"), n.target("edited", "a", "c")}})
	for i, attack := range n.attacks() {
		n.attack(attack.team, attack.text)
		n.told(attack.code, attack.team+"/evil.yaml")
		backend := []string{"c", "a"}[i%2]
		n.write("edited.yaml", n.route("edited", backend))
		n.waitFor("edited", backend)
		n.waitFor("one", "a")
	}
	wantNoFailure(t, load, 200)
}

// A team takes the platform's port, by name, by age and in other ways: the platform's Envoy
// keeps it.
func TestATeamTakesNoPort(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	n := newNeighbours(t, newServed(t, "one", "edited"))
	n.addBackend("c", "c")
	n.change = func(o *serveOptions) { o.folder.guard.clusterPaths = []string{"*.yaml"} }
	n.serve(n.host)
	n.waitFor("one", "a")
	n.run(t)
}

// The same where gatefold runs the Envoys: none is started for the team, and a restart
// beside the attack serves the platform.
func TestATeamTakesNoPortInHostMode(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	m := newMachine(t, "one", "edited")
	n := newNeighbours(t, m.served)
	n.addBackend("c", "c")
	m.start("--cluster-paths", "*.yaml")
	n.waitFor("one", "a")
	first := m.pid()
	n.run(t)
	n.attack("granted", "# nothing\n")
	n.attack("attacker", n.attacks()[0].text)
	if n.told("PortNotAllowed", "attacker/evil.yaml"); m.pid() != first {
		t.Error("the platform's Envoy was replaced")
	}
	m.stop(syscall.SIGINT)
	m.start("--cluster-paths", "*.yaml", "--state-dir", "none")
	n.waitFor("one", "a")
	n.told("PortNotAllowed", "attacker/evil.yaml")
	m.pid()
}

// A team claims the platform's host and path, with a timestamp of its own choice.
func TestATimestampWinsNoTie(t *testing.T) {
	n := newNeighbours(t, newServed(t, "one", "edited"))
	n.addBackend("c", "c")
	n.change = func(o *serveOptions) { o.folder.guard.clusterPaths = []string{"*.yaml"} }
	n.serve(n.host)
	n.waitFor("one", "a")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{n.target("one", "a"), n.target("edited", "a", "c")}})
	for i, kind := range []string{"", `, creationTimestamp: "1970-01-01T00:00:00Z"`} {
		n.attack("attacker", strings.ReplaceAll(n.backend("b", "b"), "name: b", "name: b, namespace: attacker")+fmt.Sprintf(`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: all, namespace: attacker%s}
spec:
  parentRefs: [{name: eg, namespace: default}]
  rules:
  - matches: [{path: {value: /one}}, {path: {value: /evil%d}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: b}]
`, kind, i))
		n.waitFor(fmt.Sprint("evil", i), "b")
		n.waitFor("one", "a")
		n.write("edited.yaml", n.route("edited", "c"))
		n.waitFor("edited", "c")
	}
	wantNoFailure(t, load, 100)
}
