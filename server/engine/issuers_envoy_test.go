package engine

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/oidc"
	"github.com/gatefold/gatefold/watcher"
)

// startAsking serves the folder by a gatefold that may ask issuers on loopback, and returns what stops it.
func (s *served) startAsking(roots *x509.CertPool) (stop func()) {
	s.t.Helper()
	options := Options{
		Folder:  Folder{Watch: watcher.Options{Root: s.folder, Limits: watcher.DefaultLimits()}},
		Server:  server.Options{XDSAddress: s.xds, AdminAddress: s.admin},
		State:   State{Dir: s.state, Named: true},
		Issuers: oidc.Options{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Roots: roots},
	}
	options.Folder.Store.Save = true
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, options, zerolog.New(zerolog.NewTestWriter(s.t)).Level(zerolog.WarnLevel)) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			s.must(<-ended)
		}
	}
	s.t.Cleanup(stop)
	return stop
}

// login is a policy that has users of the route app sign in at an issuer.
func login(issuer string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {client-secret: s3cret}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: GatewayExtension
metadata: {name: login}
spec:
  oauth2:
    backendRef: {group: gateway.kgateway.dev, kind: Backend, name: a}
    issuerURI: %s
    credentials: {clientID: shop, clientSecretRef: {name: login}}
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: login}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  oauth2: {extensionRef: {name: login}}
`, issuer)
}

// waitStatus waits until requests of a route are answered with a status and a location that begins as
// wanted.
func (s *served) waitStatus(route string, status int, location string) {
	s.t.Helper()
	envoytest.Wait(s.t, fmt.Sprintf("/%s to be answered with %d", route, status), func() error {
		response, err := envoytest.Try(envoytest.Request{Address: s.address, Path: "/" + route})
		if err == nil && (response.Status != status || !strings.HasPrefix(response.Headers.Get("Location"), location)) {
			err = fmt.Errorf("status %d, location %q", response.Status, response.Headers.Get("Location"))
		}
		return err
	})
}

// While an issuer has not answered, its policy closes and other routes serve. With its answer, users sign in
// there; an issuer that goes away changes nothing, and neither does a restart without it.
func TestUsersSignInWhereAnIssuerSays(t *testing.T) {
	s := newServed(t, "app", "other")
	var up atomic.Bool
	var issuer *httptest.Server
	issuer = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() || r.URL.Path != "/realm/.well-known/openid-configuration" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": issuer.URL + "/realm", "authorization_endpoint": "https://idp.test/authorize", "token_endpoint": "https://idp.test/token",
		})
	}))
	defer issuer.Close()
	roots := x509.NewCertPool()
	roots.AddCert(issuer.Certificate())
	s.write("login.yaml", login(issuer.URL+"/realm"))
	stop := s.startAsking(roots)
	s.connect()
	s.waitStatus("app", http.StatusInternalServerError, "")
	s.waitFor("other", "a")
	s.waitPage("/api/v1/problems", "the problem", func(text string) bool {
		return strings.Contains(text, "IssuerNoAnswer") && strings.Contains(text, "/realm/.well-known/openid-configuration has no usable answer: status 404; it is asked again within a minute")
	})
	up.Store(true)
	s.waitStatus("app", http.StatusFound, "https://idp.test/authorize?")
	s.waitPage("/api/v1/problems", "the problem to go", func(text string) bool { return !strings.Contains(text, "IssuerNo") })
	issuer.Close()
	s.write("other.yaml", s.route("other", "b"))
	s.waitFor("other", "b")
	s.waitStatus("app", http.StatusFound, "https://idp.test/authorize?")
	stop()
	s.write("other.yaml", s.route("other", "a"))
	s.startAsking(roots)
	s.connected()
	s.waitFor("other", "a")
	s.waitStatus("app", http.StatusFound, "https://idp.test/authorize?")
	s.waitPage("/metrics", "the issuer to be asked in vain", func(text string) bool {
		return strings.Contains(text, "\ngatefold_issuers 1\n") && strings.Contains(text, "\ngatefold_issuers_failing 1\n")
	})
	s.waitStatus("app", http.StatusFound, "https://idp.test/authorize?")
}

// An issuer that is misspelt in an edit changes nothing of what serves. A new one takes effect when it answers.
func TestAnEditOfAnIssuerWaitsForItsAnswer(t *testing.T) {
	s := newServed(t, "app", "other")
	var issuer *httptest.Server
	var up atomic.Bool
	issuer = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		realm := strings.TrimSuffix(r.URL.Path, "/.well-known/openid-configuration")
		if realm != "/one" && (realm != "/two" || !up.Load()) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": issuer.URL + realm, "authorization_endpoint": "https://idp.test" + realm, "token_endpoint": "https://idp.test/token",
		})
	}))
	defer issuer.Close()
	roots := x509.NewCertPool()
	roots.AddCert(issuer.Certificate())
	s.write("login.yaml", login(issuer.URL+"/one"))
	s.startAsking(roots)
	s.connect()
	s.waitStatus("app", http.StatusFound, "https://idp.test/one?")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{{
		Name: "app", Request: envoytest.Request{Address: s.address, Path: "/app"}, Check: func(r *envoytest.Response) error {
			if r.Status != http.StatusFound {
				return fmt.Errorf("status %d", r.Status)
			}
			return nil
		},
	}}})
	s.write("login.yaml", login(issuer.URL+"/tow"))
	s.waitPage("/api/v1/problems", "the edit to be held", func(text string) bool {
		return strings.Contains(text, "/tow/.well-known/openid-configuration has no usable answer") && strings.Contains(text, "the edit is not applied")
	})
	s.waitStatus("app", http.StatusFound, "https://idp.test/one?")
	s.write("login.yaml", login(issuer.URL+"/two"))
	s.waitPage("/api/v1/problems", "the edit to be held", func(text string) bool { return strings.Contains(text, "/two/.well-known/openid-configuration") })
	s.waitStatus("app", http.StatusFound, "https://idp.test/one?")
	up.Store(true)
	s.write("login.yaml", login(issuer.URL+"/one"))
	s.waitPage("/api/v1/problems", "no problem to be left", func(text string) bool { return !strings.Contains(text, "not applied") })
	s.write("login.yaml", login(issuer.URL+"/two"))
	s.waitStatus("app", http.StatusFound, "https://idp.test/two?")
	if result := load.StopAfter(20); result.Failed > 0 {
		t.Errorf("%d of %d requests failed: %v", result.Failed, result.Requests, result.Failures)
	}
}
