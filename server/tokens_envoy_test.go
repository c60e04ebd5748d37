package server_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/cases"
)

// issuer signs tokens with a key of its own.
type issuer struct {
	name string
	key  ed25519.PrivateKey
}

func newIssuer(name string) issuer {
	return issuer{name, ed25519.NewKeyFromSeed([]byte(strings.Repeat(name, ed25519.SeedSize)[:ed25519.SeedSize]))}
}

// keys returns the public key as a JWKS.
func (i issuer) keys() string {
	x := base64.RawURLEncoding.EncodeToString(i.key.Public().(ed25519.PublicKey))
	return `{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "` + i.name + `", "x": "` + x + `"}]}`
}

// token returns the value of the header Authorization.
func (i issuer) token() string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"EdDSA","kid":"`+i.name+`"}`)) + "." + encode([]byte(`{"iss":"https://idp.test","aud":"shop","sub":"alice","exp":4102444800}`))
	return "Bearer " + signed + "." + encode(ed25519.Sign(i.key, []byte(signed)))
}

// tokenFolder has a route that is open, and one behind tokens of keys.
func tokenFolder(keys string) map[string]string {
	return map[string]string{
		"gateway.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app}
spec:
  parentRefs: [{name: eg}]
  rules:
  - {name: open, matches: [{path: {value: /open}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}
  - {name: members, matches: [{path: {value: /members}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 3000}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: members}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app, sectionName: members}]
  jwtAuth: {extensionRef: {name: idp}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: idp}
spec:
  jwt:
    providers:
    - {name: corp, issuer: https://idp.test, audiences: [shop], jwks: {` + keys + `}}
`,
	}
}

// answers waits until a request with a token is answered with a status.
func (b *browser) answers(to, token string, status int) {
	b.t.Helper()
	envoytest.Wait(b.t, fmt.Sprintf("%s to answer %d", to, status), func() error {
		if got := b.visit("GET", to, "Authorization", token); got.status != status {
			return fmt.Errorf("it answers %d", got.status)
		}
		return nil
	})
}

// A provider whose server is away closes its routes alone: others are served and edited. When the
// server is back, they serve, and nothing has to be started again.
func TestAKeyServerThatIsAwayClosesItsRoutesAlone(t *testing.T) {
	port, idp := envoytest.FreePort(t), newIssuer("a")
	files := tokenFolder("remote: {url: 'https://idp.test/keys', cacheDuration: 1s, backendRef: {group: gateway.kgateway.dev, kind: Backend, name: idp}}")
	files["idp.yaml"] = fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: idp}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}
`, port)
	run := startCase(t, &cases.Case{Name: "keys-away"})
	run.apply(cases.Step{Files: files})
	run.envoy.WaitListener(run.address + ":8080")
	b := newBrowser(t, run.address+":8080")
	closed := func(when string) {
		t.Helper()
		b.visit("GET", "http://a.test/members", "Authorization", idp.token()).want(t, when+", members", http.StatusUnauthorized)
		b.visit("GET", "http://a.test/open").want(t, when+", open", http.StatusOK)
		files["gateway.yaml"] = strings.Replace(files["gateway.yaml"], "value: /open", "value: /open/"+when+"}}, {path: {value: /open", 1)
		run.apply(cases.Step{Files: files})
		b.answers("http://a.test/open/"+when, "", http.StatusOK)
	}
	closed("away")

	stop := serveKeys(t, port, idp)
	b.answers("http://a.test/members", idp.token(), http.StatusOK)
	b.visit("GET", "http://a.test/members").want(t, "without a token", http.StatusUnauthorized)
	b.visit("GET", "http://a.test/members", "Authorization", newIssuer("b").token()).want(t, "a token of another key", http.StatusUnauthorized)

	stop()
	b.answers("http://a.test/members", idp.token(), http.StatusUnauthorized) // the keys are too old
	closed("again")
	serveKeys(t, port, idp)
	b.answers("http://a.test/members", idp.token(), http.StatusOK)
}

// serveKeys serves the keys of an issuer on a port of 127.0.0.1 until stop is called or the test ends.
func serveKeys(t *testing.T, port int, of issuer) (stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(of.keys()))
	})}
	go func() { _ = server.Serve(listener) }()
	stop = func() { _ = server.Close() }
	t.Cleanup(stop)
	return stop
}

// New keys are in force without a change of listeners or routes, and on connections that are open.
func TestNewKeysCloseNoConnection(t *testing.T) {
	before, after := newIssuer("a"), newIssuer("b")
	files := tokenFolder("local: {configMapRef: {name: keys}}")
	keys := func(of issuer) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: keys}\ndata:\n  jwks: '" + of.keys() + "'\n"
	}
	files["keys.yaml"] = keys(before)
	run := startCase(t, &cases.Case{Name: "new-keys"})
	run.apply(cases.Step{Files: files})
	run.envoy.WaitListener(run.address + ":8080")

	dialed := 0
	b := newBrowser(t, run.address+":8080")
	transport := b.client.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed++
		return dial(ctx, network, address)
	}
	b.answers("http://a.test/members", before.token(), http.StatusOK)
	updates := func() string { return run.envoy.AdminGet("/stats?filter=(lds|rds).*update_success") }
	was := updates()
	if !strings.Contains(was, "rds") {
		t.Fatalf("no statistics of updates: %s", was)
	}

	files["keys.yaml"] = keys(after)
	run.apply(cases.Step{Files: files})
	b.answers("http://a.test/members", after.token(), http.StatusOK)
	b.visit("GET", "http://a.test/members", "Authorization", before.token()).want(t, "a token of the keys before", http.StatusUnauthorized)
	if now := updates(); now != was {
		t.Errorf("updates of listeners and routes: %s, before %s", now, was)
	}
	if dialed != 1 {
		t.Errorf("%d connections were opened, want 1", dialed)
	}
}
