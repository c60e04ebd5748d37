package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// certified is a folder with an HTTPS listener beside the plain one.
type certified struct {
	*served
	authority *envoytest.Authority
	secure    string // address of the HTTPS listener
	secrets   string // the folder of Secrets
	keys      []string
}

const httpsHost = "shop.example.com"

// startCertified serves with a certificate of secrets, when that is a folder, else
// of the folder itself.
func startCertified(t *testing.T, secrets string) *certified {
	t.Helper()
	s := newCertified(t, secrets)
	s.start()
	return s
}

// newCertified is startCertified before anything runs.
func newCertified(t *testing.T, secrets string) *certified {
	t.Helper()
	s := &certified{served: newServed(t, "x"), authority: envoytest.NewAuthority(t), secrets: secrets}
	host, _, _ := net.SplitHostPort(s.address)
	plain, port := s.address[strings.LastIndex(s.address, ":")+1:], envoytest.FreePort(t)
	s.secure = fmt.Sprintf("%s:%d", host, port)
	s.write("gateway.yaml", fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: gatefold
  addresses: [{value: %s}]
  listeners:
  - {name: http, port: %s, protocol: HTTP}
  - {name: https, port: %d, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: web}]}}
`, host, plain, port))
	s.change = func(o *serveOptions) { o.folder.secrets = secrets }
	s.rotate()
	return s
}

func (s *certified) start() {
	s.t.Helper()
	host, _, _ := net.SplitHostPort(s.address)
	s.serve(host)
	s.waitFor("x", "a")
	envoytest.Wait(s.t, "HTTPS", func() error {
		_, err := envoytest.Try(s.target("https").Request)
		return err
	})
}

// rotate issues a new certificate and gives its serial number.
func (s *certified) rotate() (certificate string) {
	s.t.Helper()
	crt, key := s.authority.Issue(httpsHost)
	s.keys = append(s.keys, secretWords(string(key))...)
	if s.secrets == "" {
		s.write("secret.yaml", tlsSecret(string(crt), string(key)))
		return string(crt)
	}
	folder := filepath.Join(s.secrets, "default", "web")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		s.t.Fatal(err)
	}
	envoytest.Replace(s.t, filepath.Join(folder, "tls.crt"), crt)
	envoytest.Replace(s.t, filepath.Join(folder, "tls.key"), key)
	return string(crt)
}

// secretWords are pieces of a key that would show it wherever they stood.
func secretWords(key string) []string {
	lines := strings.Split(strings.TrimSpace(key), "\n")
	return lines[1 : len(lines)-1]
}

func tlsSecret(crt, key string) string {
	indent := func(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") }
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: web}\ntype: kubernetes.io/tls\nstringData:\n  tls.crt: |\n    %s\n  tls.key: |\n    %s\n",
		indent(crt), indent(key))
}

func (s *certified) target(name string) envoytest.Target {
	request := envoytest.Request{Address: s.secure, Host: httpsHost, Path: "/x", TLS: &envoytest.TLS{ServerName: httpsHost}}
	return envoytest.Target{Name: name, Request: request}
}

// shown waits until clients are shown a certificate; /metrics tells when it ends.
func (s *certified) shown(certificate string) {
	s.t.Helper()
	envoytest.Wait(s.t, "the new certificate", func() error {
		response, err := envoytest.Try(s.target("").Request)
		if err == nil && string(envoytest.PEM(response.Certificate)) != certificate {
			return fmt.Errorf("certificate %s", response.Certificate.SerialNumber)
		}
		if err != nil {
			return err
		}
		figure := fmt.Sprintf("gatefold_certificate_expiry_timestamp_seconds{secret=\"default/web\"} %v", float64(response.Certificate.NotAfter.Unix()))
		if !strings.Contains(s.page(s.t, "/metrics"), figure) {
			return errors.New("no figure " + figure)
		}
		return nil
	})
}

// TestCertificatesRotateUnderLoad replaces a certificate, of YAML and of a folder of
// Secrets, while requests run: none fails, and no listener is sent.
func TestCertificatesRotateUnderLoad(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	for name, secrets := range map[string]string{"yaml": "", "secret-dir": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			s := startCertified(t, secrets)
			listeners := s.envoy.Stat("listener_manager.lds.update_success")
			load := envoytest.StartLoad(t, envoytest.LoadOptions{Rate: 600, Targets: []envoytest.Target{s.target("https"), s.served.target("x")}})
			for range 40 {
				s.shown(s.rotate())
			}
			wantNoFailure(t, load, 100)
			if now := s.envoy.Stat("listener_manager.lds.update_success"); now != listeners {
				t.Errorf("%d updates of listeners for 40 certificates", now-listeners)
			}
		})
	}
}

// TestCertbotsLinksAreFollowed renews as certbot does: new files in the archive, and the
// links of live turned to them, all below the folder of Secrets.
func TestCertbotsLinksAreFollowed(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	secrets := t.TempDir()
	s := startCertified(t, secrets)
	live, archive, web := ".certbot/live/shop", ".certbot/archive/shop", "default/web"
	for _, folder := range []string{live, archive} {
		if err := os.MkdirAll(filepath.Join(secrets, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		temporary := filepath.Join(secrets, name+".new")
		if err := errors.Join(os.Symlink(target, temporary), os.Rename(temporary, filepath.Join(secrets, name))); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		crt, key := s.authority.Issue(httpsHost)
		for name, text := range map[string][]byte{"fullchain": crt, "privkey": key} {
			file := fmt.Sprintf("%s%d.pem", name, n)
			envoytest.Replace(t, filepath.Join(secrets, archive, file), text)
			link("../../archive/shop/"+file, live+"/"+name+".pem")
		}
		if n == 0 {
			link("../../"+live+"/fullchain.pem", web+"/tls.crt")
			link("../../"+live+"/privkey.pem", web+"/tls.key")
		}
		s.shown(string(crt))
	}
}

// TestABrokenCertificateServesOn breaks the certificate in several ways: the last good
// one serves, and another route's edit is taken meanwhile.
func TestABrokenCertificateServesOn(t *testing.T) {
	secrets := t.TempDir()
	s := startCertified(t, secrets)
	good := s.rotate()
	s.shown(good)
	folder := filepath.Join(secrets, "default", "web")
	_, alien := s.authority.Issue(httpsHost)
	for i, key := range []string{"junk", "", string(alien)} {
		envoytest.Replace(t, filepath.Join(folder, "tls.key"), []byte(key))
		s.waitForProblem("tls.key")
		backend := []string{"b", "a"}[i%2]
		s.write("x.yaml", s.route("x", backend))
		s.waitFor("x", backend)
		s.shown(good)
	}
	s.shown(s.rotate())
}

// showToBackends has the Gateway show a certificate to a backend, whose answer proves
// that Envoy has its key.
func (s *certified) showToBackends() {
	s.t.Helper()
	crt, key := s.authority.Issue("gateway.example.com")
	s.keys = append(s.keys, secretWords(string(key))...)
	back := envoytest.EchoTLS(s.t, "tls", "", &tls.Config{
		Certificates: []tls.Certificate{s.authority.Pair("tls.example.com")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.authority.Pool(),
	})
	indented := strings.ReplaceAll(strings.TrimSpace(string(s.authority.PEM)), "\n", "\n    ")
	s.write("client.yaml", strings.Replace(tlsSecret(string(crt), string(key)), "name: web", "name: client", 1))
	s.write("tls.yaml", fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: trust}
data:
  ca.crt: |
    %s
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata: {name: tls}
spec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %d}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: tls}
spec:
  targetRefs: [{group: gateway.kgateway.dev, kind: Backend, name: tls}]
  validation: {hostname: tls.example.com, caCertificateRefs: [{group: "", kind: ConfigMap, name: trust}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: tls}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: /tls}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: tls}]
`, indented, back.Port()))
	gateway, err := os.ReadFile(filepath.Join(s.folder, "gateway.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("gateway.yaml", strings.Replace(string(gateway), "  listeners:", "  tls: {backend: {clientCertificateRef: {name: client}}}\n  listeners:", 1))
	request := s.target("").Request
	request.Path = "/tls"
	envoytest.Wait(s.t, "the backend to see the certificate", func() error {
		response, err := envoytest.Try(request)
		if err == nil && response.Headers.Get(envoytest.ClientHeader) != "gateway.example.com" {
			return fmt.Errorf("status %d: %s", response.Status, response.Body)
		}
		return err
	})
}

// TestNoOutputShowsAKey looks for the lines of every key on all pages, in the metrics,
// in the log, in the state, and in what commands print.
func TestNoOutputShowsAKey(t *testing.T) {
	s, state, log := newCertified(t, ""), t.TempDir(), filepath.Join(t.TempDir(), "log")
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s.stderr = file
	s.change = func(o *serveOptions) { o.state.dir, o.log.level = state, "debug" }
	s.start()
	s.shown(s.rotate())
	s.showToBackends()
	s.write("broken.yaml", strings.Replace(tlsSecret("x", strings.Join(s.keys, "\n")), "name: web", "name: other", 1))
	s.waitForProblem("broken.yaml")
	var all strings.Builder
	for _, page := range []string{"xds", "status", "problems", "envoys"} {
		all.WriteString(s.page(t, "/api/v1/"+page))
	}
	all.WriteString(s.page(t, "/metrics"))
	if !strings.Contains(all.String(), "Secret/default/web") || !strings.Contains(all.String(), "Secret/default/client") || !strings.Contains(all.String(), "tls.crt") {
		t.Fatal("the pages tell neither of the Secret nor of the problem: nothing is proved")
	}
	for _, args := range [][]string{
		{"validate", s.folder}, {"validate", "-o", "json", s.folder}, {"translate", s.folder}, {"tree", s.folder},
		{"explain", s.folder, "GET", "https://" + httpsHost + s.secure[strings.LastIndex(s.secure, ":"):] + "/x"},
		{"explain", s.folder, "-o", "json", "GET", "https://" + httpsHost + s.secure[strings.LastIndex(s.secure, ":"):] + "/tls"},
	} {
		Main(args, &all, &all)
	}
	s.write("x.yaml", s.route("x", "b"))
	envoytest.Wait(t, "the state to be saved", func() error { // the Secret came before
		if kept := s.files(state); !strings.Contains(kept, `"b"`) && !strings.Contains(kept, "name: b") {
			return errors.New(kept)
		}
		return nil
	})
	all.WriteString(s.files(state))
	if told := read(t, log); !strings.Contains(told, "tls.crt") || !strings.Contains(told, "reloaded") {
		t.Fatalf("the log tells nothing of the Secret: nothing is proved: %s", told)
	}
	all.WriteString(read(t, log))
	for _, word := range s.keys {
		if strings.Contains(all.String(), word) {
			t.Errorf("a line of a key is shown: %.6s…", word)
		}
	}
}

// files returns the content of all files of a folder.
func (s *certified) files(folder string) string {
	s.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all.String()
}

func (s *certified) waitForProblem(word string) {
	s.t.Helper()
	envoytest.Wait(s.t, "a problem with "+word, func() error {
		if page := s.page(s.t, "/api/v1/problems"); !strings.Contains(page, word) {
			return fmt.Errorf("%s", page)
		}
		return nil
	})
}

func (s *certified) page(t testing.TB, path string) string {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + s.admin + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
