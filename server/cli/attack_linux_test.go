package cli

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/envoy/testsize"
)

// TestAnAttackOnEverything puts an innocent team beside three that attack in all ways at once, in one folder under path
// policies, and with one Envoy: see attacks. Their files are written, changed and removed in an order that a seed gives,
// one more changes all the time, and gatefold is killed and started again, with its state and without. Meanwhile no
// request to the innocent team fails, its passwords, keys, addresses and identity headers protect it, its edits are
// served, Envoy's memory stays below a bound, and gatefold ends by SIGTERM.
func TestAnAttackOnEverything(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	rounds, r := testsize.Of(t, 4), rand.New(rand.NewPCG(testsize.Seed(t), 13))
	b := newBesieged(t)
	b.start()
	b.edit(0)
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 400, Duration: time.Hour, Targets: b.targets()})
	attacks := b.attacks()
	files := slices.Sorted(maps.Keys(attacks))
	for _, file := range files {
		b.put(file, attacks[file](r))
	}
	b.until("the attack", envoytest.Request{Address: b.address, Host: "h0.attacker.test", Path: "/copy0/0/0"}, "evil")
	stop := b.noise()
	defer stop()
	for round := range rounds {
		for range 1 + r.IntN(4) {
			file := files[r.IntN(len(files))]
			text := attacks[file](r)
			if r.IntN(3) == 0 {
				text = ""
			}
			b.put(file, text)
		}
		b.edit(round + 1)
		switch round % 4 {
		case 1:
			b.recreate()
		case 2:
			b.kill()
			b.start()
		case 3:
			b.kill()
			b.state = t.TempDir() // a start that knows nothing
			b.start()
		}
	}
	stop()
	wantNoFailure(t, load, 1_000)
	peak := peakMemory(t, b.envoy.Pid())
	if t.Logf("the peak of Envoy's memory: %d MiB", peak>>10); peak > 400<<10 {
		t.Error("Envoy had more than 400 MiB")
	}
}

// besieged are a platform, whose files are in the folder itself, and teams with a directory each: innocent, attacker, noise,
// and rival, which may use the Gateway's ports, and whose hostnames are bounded as those of the innocent team.
type besieged struct {
	*served
	t      *testing.T
	host   string
	ports  [3]int // of the Gateway: HTTP, HTTPS, and one for ListenerSets alone
	inside string // the one address that /inside admits
	state  string
	owner  *envoytest.Authority
	serve  *exec.Cmd
}

func newBesieged(t *testing.T) *besieged {
	b := &besieged{served: &served{t: t, folder: t.TempDir(), echoes: map[string]*envoytest.EchoServer{}}, t: t, state: t.TempDir(), owner: envoytest.NewAuthority(t)}
	b.host, b.inside = envoytest.LoopbackAddress(), envoytest.LoopbackAddress()
	for i := range b.ports {
		b.ports[i] = envoytest.FreePort(t)
	}
	at := func(port int) string { return net.JoinHostPort(b.host, fmt.Sprint(port)) }
	b.address, b.xds, b.admin = at(b.ports[0]), at(envoytest.FreePort(t)), at(envoytest.FreePort(t))
	b.put("platform.yaml", fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: default, annotations: {gatefold.io/paths: "*.yaml"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: innocent, annotations: {gatefold.io/paths: innocent/**, gatefold.io/hostnames: "innocent.test, again.innocent.test, shared.test"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: attacker, annotations: {gatefold.io/paths: attacker/**}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: rival, annotations: {gatefold.io/paths: rival/**, gatefold.io/hostnames: "*.rival.test", gatefold.io/gateway-ports: "%[2]d, %[3]d, %[4]d"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: noise, annotations: {gatefold.io/paths: noise/**}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  addresses: [{value: %[1]s}]
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: http, port: %[2]d, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - {name: https, port: %[3]d, protocol: HTTPS, hostname: innocent.test, allowedRoutes: {namespaces: {from: All}}, tls: {certificateRefs: [{name: innocent}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: root}
spec:
  parentRefs: [{name: eg}]
  hostnames: [shared.test]
  rules:
  - {matches: [{path: {value: /in}}], backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: kid, namespace: innocent}]}
  - {name: at, matches: [{path: {value: /at}}], backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*", namespace: attacker}]}
---
`, b.host, b.ports[0], b.ports[1], b.ports[2])+b.certificate("innocent", "default", "innocent.test"))
	b.put("innocent/team.yaml", b.team("a", "innocent")+b.team("b", "innocent")+b.innocent())
	b.put("attacker/evil.yaml", b.team("evil", "attacker"))
	b.put("rival/evil.yaml", b.team("evil", "rival"))
	b.put("innocent/again.yaml", b.route("again", "again.innocent.test", "/", "a"))
	b.put("innocent/edited.yaml", b.route("edited", "innocent.test", "/edited", "a"))
	return b
}

// put writes a file by rename, and removes it where the text is "".
func (b *besieged) put(name, text string) {
	b.t.Helper()
	path, temporary := filepath.Join(b.folder, name), filepath.Join(b.folder, ".new")
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if text == "" {
		err = os.RemoveAll(path)
	} else if err == nil {
		err = errors.Join(os.WriteFile(temporary, []byte(text), 0o600), os.Rename(temporary, path))
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// certificate is a Secret with a certificate for a host.
func (b *besieged) certificate(name, namespace, host string) string {
	certificate, key := b.owner.Issue(host)
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\ntype: kubernetes.io/tls\nstringData: {tls.crt: %q, tls.key: %q}\n---\n", name, namespace, certificate, key)
}

// team is a Backend of a team that leads to an echo backend of that name.
func (b *besieged) team(name, team string) string {
	return strings.Replace(b.backend(name, name), "metadata: {", "metadata: {namespace: "+team+", ", 1) + "---\n"
}

// route is a route of the innocent team.
func (b *besieged) route(name, host, path, backend string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: innocent}
spec:
  parentRefs: [{name: eg, namespace: default}]
  hostnames: [%s]
  rules: [{matches: [{path: {value: %s}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %s}]}]
---
`, name, host, path, backend)
}

// innocent is what the innocent team has besides the route that it edits and the one that comes and goes.
func (b *besieged) innocent() string {
	var text strings.Builder
	for _, name := range []string{"open", "private", "keyed", "inside"} {
		text.WriteString(b.route(name, "innocent.test", "/"+name, "a"))
	}
	for name, protects := range map[string]string{
		"private": "basicAuth: {secretRef: {name: people}}",
		"keyed":   "apiKeyAuth: {secretRef: {name: keys}, keySources: [{header: x-key}], clientIdHeader: x-client}",
		"inside":  "acl: {defaultAction: deny, rules: [{cidrs: [127.0.0.1/32, " + b.inside + "/32], action: allow}]}",
	} {
		fmt.Fprintf(&text, "apiVersion: gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {name: %[1]s, namespace: innocent}\nspec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %[1]s}], %[2]s}\n---\n", name, protects)
	}
	kid := strings.NewReplacer("  parentRefs: [{name: eg, namespace: default}]\n  hostnames: [shared.test]\n", "").Replace(b.route("kid", "shared.test", "/in/kid", "a"))
	return text.String() + kid + `{apiVersion: v1, kind: Secret, metadata: {name: people, namespace: innocent}, stringData: {.htpasswd: "alice:{SHA}L55TUjtiq8FBorTWAZ0jy6g129A="}}
---
{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: innocent}, stringData: {partner: k-partner}}
`
}

// start starts gatefold, with an Envoy if there is none, and waits until it is ready.
func (b *besieged) start() {
	b.t.Helper()
	log := new(sharedLog)
	b.serve = exec.Command("gatefold", "serve", b.folder, "--xds-address", b.xds, "--admin-address", b.admin, "--state-dir", b.state, "--cluster-paths", "*.yaml", "--weighted-route-precedence", "--log-level", "error")
	b.serve.Stderr = log
	if err := b.serve.Start(); err != nil {
		b.t.Fatal(err)
	}
	serve := b.serve
	b.t.Cleanup(func() {
		if serve.ProcessState != nil { // killed
			return
		}
		if err := errors.Join(serve.Process.Signal(syscall.SIGTERM), serve.Wait()); err != nil {
			b.t.Errorf("serve: %v: %s", err, log)
		}
	})
	if b.envoy == nil {
		b.envoy = envoytest.Start(b.t, envoytest.Options{XDSAddress: b.xds, NodeID: "edge-1", NodeCluster: "default/eg"})
	}
	admin := client{address: b.admin, timeout: patience}
	envoytest.Wait(b.t, "gatefold to be ready", func() error {
		code, body, err := admin.get(b.t.Context(), "/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d: %s", code, body)
		}
		return err
	})
}

func (b *besieged) kill() {
	_ = b.serve.Process.Kill() // a kill is no success
	_ = b.serve.Wait()
}

// noise writes a file of a team of its own all the time, until the function that it returns is called.
func (b *besieged) noise() (stop func()) {
	b.put("noise/noise.yaml", "# 0\n")
	ends := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-ends:
				return
			case <-time.After(20 * time.Millisecond):
				_ = os.WriteFile(filepath.Join(b.folder, "noise", "noise.yaml"), fmt.Appendf(nil, "# %d\n", i), 0o600)
			}
		}
	})
	return sync.OnceFunc(func() { close(ends); group.Wait() })
}

// edit has a route of the innocent team go to another backend, and waits until it does.
func (b *besieged) edit(i int) {
	b.t.Helper()
	backend := []string{"b", "a"}[i%2]
	b.put("innocent/edited.yaml", b.route("edited", "innocent.test", "/edited", backend))
	b.until("/edited", envoytest.Request{Address: b.address, Host: "innocent.test", Path: "/edited"}, backend)
}

// recreate removes a host of the innocent team for a moment.
func (b *besieged) recreate() {
	b.t.Helper()
	again := envoytest.Request{Address: b.address, Host: "again.innocent.test"}
	b.put("innocent/again.yaml", "")
	envoytest.Wait(b.t, "the removed host to go", func() error {
		response, err := envoytest.Try(again)
		if err == nil && response.Backend == "a" {
			err = errors.New("the innocent team answers")
		}
		return err
	})
	b.put("innocent/again.yaml", b.route("again", "again.innocent.test", "/", "a"))
	b.until("the host that comes back", again, "a")
}

func (b *besieged) until(what string, request envoytest.Request, backend string) {
	b.t.Helper()
	envoytest.Wait(b.t, what+" to be answered by "+backend, func() error {
		response, err := envoytest.Try(request)
		if err == nil && response.Backend != backend {
			err = fmt.Errorf("status %d from %q", response.Status, response.Backend)
		}
		return err
	})
}

// targets are requests to the innocent team with and without right credentials, and those of outsiders by way of the attacker.
func (b *besieged) targets() (all []envoytest.Target) {
	add := func(name, host, path, from string, headers http.Header, check func(*envoytest.Response) error) {
		all = append(all, envoytest.Target{Name: name, Check: check, Request: envoytest.Request{Address: b.address, Host: host, Path: path, From: from, Headers: headers}})
	}
	outside, forged := envoytest.LoopbackAddress(), http.Header{"X-Client": {"root"}, "X-Session": {"s"}}
	password := http.Header{"Authorization": {"Basic YWxpY2U6Y29ycmVjdCBob3JzZQ=="}, "X-Client": {"root"}, "X-Session": {"s"}}
	key := http.Header{"X-Key": {"k-partner"}, "X-Client": {"root"}, "X-Session": {"s"}}
	add("open", "innocent.test", "/open", "", forged, b.served200("", "a"))
	all = append(all, envoytest.Target{Name: "open over TLS", Check: b.served200("", "a"), Request: envoytest.Request{
		Address: net.JoinHostPort(b.host, fmt.Sprint(b.ports[1])), Host: "innocent.test", Path: "/open", Headers: forged, TLS: &envoytest.TLS{ServerName: "innocent.test"},
	}})
	add("edited", "innocent.test", "/edited", "", forged, b.served200("", "a", "b"))
	add("private", "innocent.test", "/private", "", password, b.served200("", "a"))
	add("private without password", "innocent.test", "/private", "", forged, answers(http.StatusUnauthorized))
	add("keyed", "innocent.test", "/keyed", "", key, b.served200("partner", "a"))
	add("keyed without key", "innocent.test", "/keyed", "", forged, answers(http.StatusUnauthorized))
	add("inside", "innocent.test", "/inside", b.inside, forged, b.served200("", "a"))
	add("inside from outside", "innocent.test", "/inside", outside, forged, answers(http.StatusForbidden))
	add("shared", "shared.test", "/in/kid", "", forged, b.served200("", "a"))
	for _, path := range []string{"/deputy", "/service", "/mirror"} {
		add("inside by the attacker's "+path, "deputy.attacker.test", path+"/inside", outside, forged, func(r *envoytest.Response) error {
			if r.Backend == "a" {
				return fmt.Errorf("the innocent team's backend answers: %s", r.Body)
			}
			return nil
		})
	}
	return all
}

// answers wants an answer of Envoy itself with a status.
func answers(want int) func(*envoytest.Response) error {
	return func(r *envoytest.Response) error {
		if r.Status != want || r.Backend != "" {
			return fmt.Errorf("status %d from %q, want %d", r.Status, r.Backend, want)
		}
		return nil
	}
}

// served200 wants an answer of one of the innocent team's backends, which got the client's x-session, and of x-client what
// the policy writes alone, not what the client wrote.
func (b *besieged) served200(client string, backends ...string) func(*envoytest.Response) error {
	return func(r *envoytest.Response) error {
		echo, err := r.Echoed()
		if err != nil {
			return err
		}
		if !slices.Contains(backends, r.Backend) || echo.Headers.Get("X-Client") != client || echo.Headers.Get("X-Session") != "s" {
			return fmt.Errorf("status %d from %q, which got %v", r.Status, r.Backend, echo.Headers)
		}
		if r.Certificate != nil && r.Certificate.VerifyHostname("innocent.test") != nil {
			return fmt.Errorf("the certificate is for %v", r.Certificate.DNSNames)
		}
		return nil
	}
}

// peakMemory is the most memory that a process had, in KiB.
func peakMemory(t *testing.T, pid int) (peak int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(after, &peak); err != nil {
		t.Fatalf("no peak in %s", text)
	}
	return peak
}
