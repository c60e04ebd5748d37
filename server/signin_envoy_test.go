package server_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/examples/echo/handler"
	"github.com/gatefold/gatefold/translate/cases"
)

// identityProvider is the token endpoint of an OpenID provider, and what it knows of logins.
type identityProvider struct {
	server *httptest.Server
	mu     sync.Mutex
	secret string            // of the client
	life   int               // of access tokens, in seconds
	codes  map[string]string // code challenges by code
	grants []string          // the types of all grants, in order
	issued int
}

func startIdentityProvider(t *testing.T, secret string) *identityProvider {
	t.Helper()
	p := &identityProvider{secret: secret, life: 3600, codes: map[string]string{}}
	p.server = httptest.NewServer(http.HandlerFunc(p.token))
	t.Cleanup(p.server.Close)
	return p
}

func (p *identityProvider) port() int { return p.server.Listener.Addr().(*net.TCPAddr).Port }

// authorize is what the provider does when a user has given the right password: it sends the
// browser back with a code.
func (p *identityProvider) authorize(t *testing.T, location string) (back string) {
	t.Helper()
	to, err := url.Parse(location)
	if err != nil || to.Host != "idp.test" || to.Path != "/authorize" {
		t.Fatalf("users sign in at %q: %v", location, err)
	}
	query := to.Query()
	if query.Get("client_id") != "shop" || query.Get("scope") != "openid profile" || query.Get("tenant") != "a" || query.Get("code_challenge_method") != "S256" {
		t.Errorf("the provider is asked for %v", query)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := fmt.Sprintf("code-%d", len(p.codes))
	p.codes[code] = query.Get("code_challenge")
	return query.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {query.Get("state")}}.Encode()
}

// token answers a request of Envoy for a token.
func (p *identityProvider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	form := func(name string) string { return r.PostFormValue(name) }
	p.grants = append(p.grants, form("grant_type"))
	sum := sha256.Sum256([]byte(form("code_verifier")))
	challenge, known := p.codes[form("code")]
	switch {
	case r.URL.Path != "/token" || r.Host != "idp.test" || form("client_id") != "shop" || form("client_secret") != p.secret:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case form("grant_type") == "refresh_token" && form("refresh_token") == fmt.Sprintf("refresh-%d", p.issued):
	case form("grant_type") == "authorization_code" && known && challenge == base64.RawURLEncoding.EncodeToString(sum[:]) && form("redirect_uri") == "https://a.test/oauth2/redirect":
		delete(p.codes, form("code"))
	default:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.issued++
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": fmt.Sprintf("access-%d", p.issued), "refresh_token": fmt.Sprintf("refresh-%d", p.issued), "token_type": "Bearer", "expires_in": p.life,
	})
}

// set changes what the provider does.
func (p *identityProvider) set(secret string, life int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secret, p.life = secret, life
}

// count returns how often a type of grant was asked for.
func (p *identityProvider) count(grant string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.grants {
		if one == grant {
			n++
		}
	}
	return n
}

// browser keeps cookies as browsers do, and follows no redirect by itself.
type browser struct {
	t      *testing.T
	client *http.Client
}

func newBrowser(t *testing.T, address string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is not what is tested
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t, &http.Client{
		Transport: transport, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// visited is the answer to a request.
type visited struct {
	status   int
	location string
	body     []byte
}

func (b *browser) visit(method, to string, headers ...string) visited {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, to, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return visited{response.StatusCode, response.Header.Get("Location"), body}
}

// want fails unless the answer has the status, and returns the answer.
func (v visited) want(t *testing.T, what string, status int) visited {
	t.Helper()
	if v.status != status {
		t.Errorf("%s: %d %s %s, want %d", what, v.status, v.location, v.body, status)
	}
	return v
}

// received is the request that the backend got.
func (v visited) received(t *testing.T) (answer handler.Answer) {
	t.Helper()
	if err := json.Unmarshal(v.body, &answer); err != nil {
		t.Fatalf("no backend answered: %d %s", v.status, v.body)
	}
	return answer
}

// signIn visits a page and signs in.
func (b *browser) signIn(p *identityProvider, page string) {
	b.t.Helper()
	first := b.visit("GET", page).want(b.t, page, http.StatusFound)
	back := b.visit("GET", p.authorize(b.t, first.location)).want(b.t, "the callback", http.StatusFound)
	if back.location != page {
		b.t.Errorf("signed in, the browser is sent to %s, not to %s", back.location, page)
	}
}

const signInPage = "https://a.test/app"

// startSignIn serves a route of an HTTPS listener at which users sign in.
func startSignIn(t *testing.T, p *identityProvider) (run *caseRun, files map[string]string) {
	t.Helper()
	run = startCase(t, &cases.Case{Name: "sign-in"})
	certificate, key := envoytest.NewAuthority(t).Issue("a.test")
	indent := func(pem []byte) string { return strings.ReplaceAll(strings.TrimSpace(string(pem)), "\n", "\n    ") }
	files = map[string]string{
		"gateway.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  listeners: [{name: https, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: tls}]}}]
---
apiVersion: v1
kind: Secret
metadata: {name: tls}
type: kubernetes.io/tls
stringData:
  tls.crt: |
    ` + indent(certificate) + `
  tls.key: |
    ` + indent(key) + `
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app}
spec:
  parentRefs: [{name: eg}]
  hostnames: [a.test]
  rules:
  - name: app
    matches: [{path: {value: /app}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a}]
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: a}
spec: {type: Static, static: {hosts: [{host: 127.9.0.1, port: 3000}]}}
`,
		"login.yaml": fmt.Sprintf(`apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: idp}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: login}
spec:
  oauth2:
    backendRef: {group: gateway.kgateway.dev, kind: Backend, name: idp}
    authorizationEndpoint: https://idp.test/authorize?tenant=a
    tokenEndpoint: https://idp.test/token
    forwardAccessToken: true
    scopes: [openid, profile]
    credentials: {clientID: shop, clientSecretRef: {name: shop}}
    denyRedirect: {headers: [{name: x-requested-with, value: XMLHttpRequest}]}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: login}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app, sectionName: app}]
  oauth2: {extensionRef: {name: login}}
`, p.port()),
		"secret.yaml": clientSecret(p.secret),
	}
	run.apply(cases.Step{Files: files})
	run.envoy.WaitListener(run.address + ":8443")
	return run, files
}

func clientSecret(secret string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: shop}\nstringData: {client-secret: " + secret + "}\n"
}

// ready waits until Envoy has the secrets: it answers 503 before.
func (b *browser) ready() {
	b.t.Helper()
	envoytest.Wait(b.t, "Envoy to have the secrets", func() error {
		if got := b.visit("GET", signInPage); got.status == http.StatusServiceUnavailable {
			return fmt.Errorf("it answers %d", got.status)
		}
		return nil
	})
}

// Users sign in, are sent back to where they wanted to go, stay signed in, and sign out. The
// backend gets the access token, and none that a client makes up.
func TestUsersSignIn(t *testing.T) {
	p := startIdentityProvider(t, "s3cret")
	run, _ := startSignIn(t, p)
	b := newBrowser(t, run.address+":8443")
	b.ready()
	b.visit("POST", signInPage).want(t, "POST without cookies", http.StatusFound)
	b.visit("GET", signInPage, "X-Requested-With", "XMLHttpRequest").want(t, "a script without cookies", http.StatusUnauthorized)
	b.signIn(p, signInPage+"/cart?a=b&c=d")
	for _, method := range []string{"GET", "POST"} {
		got := b.visit(method, signInPage, "Authorization", "Bearer forged", "X-Requested-With", "XMLHttpRequest").want(t, "signed in", http.StatusOK).received(t)
		if token := got.Headers.Get("Authorization"); token != "Bearer access-1" {
			t.Errorf("the backend gets %q", token)
		}
	}
	newBrowser(t, run.address+":8443").visit("GET", signInPage, "Authorization", "Bearer access-1").want(t, "another browser", http.StatusFound)
	out := b.visit("GET", "https://a.test/logout").want(t, "sign out", http.StatusFound)
	if out.location != "https://a.test/" {
		t.Errorf("signed out, the browser is sent to %s", out.location)
	}
	b.visit("GET", signInPage).want(t, "signed out", http.StatusFound)
}

// An access token that expires is replaced without a login.
func TestSignedInUsersAreRefreshed(t *testing.T) {
	p := startIdentityProvider(t, "s3cret")
	p.set("s3cret", 1)
	run, _ := startSignIn(t, p)
	b := newBrowser(t, run.address+":8443")
	b.ready()
	b.signIn(p, signInPage)
	envoytest.Wait(t, "the token to be refreshed", func() error {
		got := b.visit("GET", signInPage)
		if got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
		if p.count("refresh_token") == 0 {
			return fmt.Errorf("no refresh yet: %d", got.status)
		}
		return nil
	})
	if n := p.count("authorization_code"); n != 1 {
		t.Errorf("the user signed in %d times", n)
	}
}

// Three tabs of a browser begin to sign in before one of them is done.
func TestThreeTabsSignIn(t *testing.T) {
	p := startIdentityProvider(t, "s3cret")
	run, _ := startSignIn(t, p)
	b := newBrowser(t, run.address+":8443")
	b.ready()
	var back []string
	for tab := range 3 {
		first := b.visit("GET", fmt.Sprintf("%s?tab=%d", signInPage, tab)).want(t, "a tab", http.StatusFound)
		back = append(back, p.authorize(t, first.location))
	}
	for _, tab := range []int{1, 2, 0} {
		got := b.visit("GET", back[tab]).want(t, "a callback", http.StatusFound)
		if want := fmt.Sprintf("%s?tab=%d", signInPage, tab); got.location != want {
			t.Errorf("tab %d is sent to %s", tab, got.location)
		}
	}
	b.visit("GET", signInPage).want(t, "signed in", http.StatusOK)
}

// A login that another browser began, or that nobody began, is refused.
func TestForeignLoginsAreRefused(t *testing.T) {
	p := startIdentityProvider(t, "s3cret")
	run, _ := startSignIn(t, p)
	attacker, victim := newBrowser(t, run.address+":8443"), newBrowser(t, run.address+":8443")
	attacker.ready()
	back := p.authorize(t, attacker.visit("GET", signInPage).want(t, "the attacker", http.StatusFound).location)
	victim.visit("GET", back).want(t, "a callback without the login's cookies", http.StatusUnauthorized)
	victim.visit("GET", signInPage).want(t, "the victim", http.StatusFound)
	victim.visit("GET", back).want(t, "a callback with cookies of another login", http.StatusUnauthorized)
	to, _ := url.Parse(back)
	query := to.Query()
	state, err := base64.RawURLEncoding.DecodeString(query.Get("state"))
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range []string{
		strings.Replace(string(state), `"csrf_token":"`, `"csrf_token":"0`, 1), `{"url":"https://evil.test/"}`, "{}", "x",
	} {
		query.Set("state", base64.RawURLEncoding.EncodeToString([]byte(forged)))
		attacker.visit("GET", "https://a.test/oauth2/redirect?"+query.Encode()).want(t, forged, http.StatusUnauthorized)
	}
	query.Del("state")
	attacker.visit("GET", "https://a.test/oauth2/redirect?"+query.Encode()).want(t, "no state", http.StatusUnauthorized)
	attacker.visit("GET", "https://a.test/oauth2/redirect?error=access_denied").want(t, "an error of the provider", http.StatusUnauthorized)
	if n := p.count("authorization_code"); n != 0 {
		t.Errorf("the provider was asked for %d tokens", n)
	}
	attacker.visit("GET", back).want(t, "the attacker's own login", http.StatusFound)
}

// A changed Secret is live without a change of a listener or a route.
func TestAChangedClientSecretIsLive(t *testing.T) {
	p := startIdentityProvider(t, "s3cret")
	run, files := startSignIn(t, p)
	b := newBrowser(t, run.address+":8443")
	b.ready()
	b.signIn(p, signInPage)
	updates := func() string { return run.envoy.AdminGet("/stats?filter=(lds|rds).*update_success") }
	before := updates()
	p.set("another", 3600)
	files["secret.yaml"] = clientSecret("another")
	run.apply(cases.Step{Files: files})
	envoytest.Wait(t, "the Secret to be live", func() error {
		fresh := newBrowser(t, run.address+":8443")
		first := fresh.visit("GET", signInPage).want(t, "a new user", http.StatusFound)
		if got := fresh.visit("GET", p.authorize(t, first.location)); got.status != http.StatusFound {
			return fmt.Errorf("the callback answers %d", got.status)
		}
		return nil
	})
	if after := updates(); after != before || !strings.Contains(after, "rds") {
		t.Errorf("updates of listeners and routes: %s, before %s", after, before)
	}
	b.visit("GET", signInPage).want(t, "cookies of the Secret before", http.StatusFound)
}
