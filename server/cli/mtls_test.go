package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/mtls"
	"github.com/gatefold/gatefold/watcher"
)

// secured is a folder that gatefold serves by mTLS on a fixed address.
type secured struct {
	*served
	servers, clients *envoytest.Authority
	files            mtls.Files
	stop             func() // gatefold
}

func startSecured(t *testing.T, routes ...string) *secured {
	t.Helper()
	s := &secured{served: newServed(t, routes...), servers: envoytest.NewAuthority(t), clients: envoytest.NewAuthority(t)}
	host, _, _ := net.SplitHostPort(s.address)
	s.xds = net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(t)))
	s.admin = net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(t)))
	folder := t.TempDir()
	s.files = mtls.Files{
		Cert: filepath.Join(folder, "tls.crt"), Key: filepath.Join(folder, "tls.key"), ClientCA: filepath.Join(folder, "ca.crt"),
	}
	s.certify()
	envoytest.Replace(t, s.files.ClientCA, s.clients.PEM)
	s.start()
	return s
}

// certify gives gatefold a new certificate.
func (s *secured) certify() {
	host, _, _ := net.SplitHostPort(s.xds)
	certificate, key := s.servers.Issue(host)
	envoytest.Replace(s.t, s.files.Cert, certificate)
	envoytest.Replace(s.t, s.files.Key, key)
}

// start runs gatefold until stop, or the test, ends.
func (s *secured) start() {
	o := serveOptions{watch: "auto", log: logOptions{format: "json", level: "error"}}
	o.folder.tree = watcher.DefaultLimits()
	o.server.XDSAddress, o.server.AdminAddress = s.xds, s.admin
	o.access.tls, o.server.TLSInterval = s.files, 20*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.run(ctx, s.folder, io.Discard) }()
	stopped := false
	s.stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-ended; err != nil {
				s.t.Error(err)
			}
		}
	}
	s.t.Cleanup(s.stop)
}

// edge is an Envoy's place: its certificate, key and authority, and what
// `gatefold bootstrap` makes of them.
type edge struct {
	*secured
	folder string
}

// edge makes a place with these files; nil leaves all TLS out.
func (s *secured) edge(certificate, key, authority []byte) *edge {
	e := &edge{s, s.t.(*testing.T).TempDir()}
	if certificate != nil {
		e.swap("v0", certificate, key, authority)
		for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
			if err := os.Symlink("..data/"+name, e.path(name)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return e
}

func (e *edge) path(name string) string { return filepath.Join(e.folder, name) }

// swap replaces all three files by one swap of a link, as Kubernetes does.
func (e *edge) swap(version string, certificate, key, authority []byte) {
	e.t.Helper()
	err := os.Mkdir(e.path(version), 0o700)
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": authority} {
		err = errors.Join(err, os.WriteFile(e.path(version+"/"+name), text, 0o600))
	}
	if err := errors.Join(err, os.Symlink(version, e.path("..new")), os.Rename(e.path("..new"), e.path("..data"))); err != nil {
		e.t.Fatal(err)
	}
}

// connect starts an Envoy with what `gatefold bootstrap` writes.
func (e *edge) connect(node string) *envoytest.Envoy {
	e.t.Helper()
	config := e.path("envoy.yaml")
	args := []string{"bootstrap", "default/eg", "--node-id", node, "--xds-address", e.xds, "--envoy-admin-address", "127.0.0.1:0", "--write", config}
	if _, err := os.Lstat(e.path("tls.crt")); err == nil {
		args = append(args, "--tls-cert", e.path("tls.crt"), "--tls-key", e.path("tls.key"), "--tls-ca", e.path("ca.crt"))
	}
	if code := Main(args, io.Discard, os.Stderr); code != exitFine {
		e.t.Fatalf("bootstrap: exit code %d", code)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		e.t.Fatal(err)
	}
	return envoytest.Start(e.t, envoytest.Options{Config: text})
}

// page reads one of gatefold's admin pages.
func (s *secured) page(name string, value any) error {
	response, err := http.Get("http://" + s.admin + name)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(value)
}

const own = "spiffe://example.org/gateway/default/eg"

// The one Envoy whose certificate is for the Gateway is served, under load;
// all others come again and again and get nothing.
func TestOnlyTheEnvoyOfTheGatewayIsServed(t *testing.T) {
	s := startSecured(t, "x")
	certificate, key := s.clients.Issue(own)
	s.edge(certificate, key, s.servers.PEM).connect("right")
	s.waitFor("x", "a")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{s.target("x", "a")}})

	strange, strangeKey := envoytest.NewAuthority(t).Issue(own)
	other, otherKey := s.clients.Issue("spiffe://example.org/gateway/default/other")
	distrusts := envoytest.NewAuthority(t).PEM
	for reason, e := range map[string]*edge{
		"is not signed by an authority of --xds-tls-client-ca":                                s.edge(strange, strangeKey, s.servers.PEM),
		"asks for Gateway default/eg, and the client's certificate is for default/other only": s.edge(other, otherKey, s.servers.PEM),
		"it does not speak TLS:":            s.edge(nil, nil, nil),
		"it refuses gatefold's certificate": s.edge(certificate, key, distrusts),
	} {
		envoy := e.connect("wrong")
		envoytest.Wait(t, reason, func() error {
			var page admin.Transport
			if err := s.page("/api/v1/transport", &page); err != nil {
				return err
			}
			for _, row := range page.RejectedClients {
				if strings.Contains(row.Reason, reason) && row.Times > 1 {
					return nil
				}
			}
			return fmt.Errorf("rejected clients are %+v", page.RejectedClients)
		})
		if dump := envoy.ConfigDump(); strings.Contains(dump, "dynamic_listeners") || strings.Contains(dump, "dynamic_active_clusters") {
			t.Errorf("%s: the Envoy holds %s", reason, dump)
		}
		envoy.Stop()
	}
	wantNoFailure(t, load, 500)
	var out strings.Builder
	if code := Main([]string{"status", "--admin-address", s.admin}, &out, os.Stderr); code == exitFailed ||
		!strings.Contains(out.String(), "spiffe://example.org/gateway/default/other  default/eg") {
		t.Errorf("exit code %d, %s", code, out.String())
	}
}

// streams returns the ids of the streams.
func (s *secured) streams() ([]uint64, error) {
	var page struct {
		Streams []struct {
			ID uint64 `json:"id"`
		} `json:"streams"`
	}
	err := s.page("/api/v1/xds", &page)
	var ids []uint64
	for _, stream := range page.Streams {
		ids = append(ids, stream.ID)
	}
	return ids, err
}

// Both sides' certificates and authorities are replaced again and again while
// requests and edits run: no request fails and the stream stays the same. Then
// gatefold restarts, and the Envoy comes back by what has become of the files.
func TestRotationOfBothSidesUnderLoad(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	s := startSecured(t, "edited", "other")
	certificate, key := s.clients.Issue(own)
	e := s.edge(certificate, key, s.servers.PEM)
	envoy := e.connect("edge-1")
	s.waitFor("edited", "a")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{
		Targets: []envoytest.Target{s.target("edited", "a", "b"), s.target("other", "a")},
	})
	before, err := s.streams()
	if err != nil || len(before) != 1 {
		t.Fatalf("streams %v, %v", before, err)
	}
	for i := range 40 {
		oldServers, oldClients := s.servers.PEM, s.clients.PEM
		s.servers, s.clients = envoytest.NewAuthority(t), envoytest.NewAuthority(t)
		// Each side trusts the new authority before the other shows its certificate.
		trusted := slices.Concat(oldServers, s.servers.PEM)
		e.rotate(envoy, fmt.Sprintf("trust%d", i), certificate, key, trusted)
		s.loaded(func() { envoytest.Replace(t, s.files.ClientCA, slices.Concat(oldClients, s.clients.PEM)) })
		s.loaded(s.certify)
		certificate, key = s.clients.Issue(own)
		e.rotate(envoy, fmt.Sprintf("show%d", i), certificate, key, trusted)
		// Then it forgets the old one.
		e.rotate(envoy, fmt.Sprintf("forget%d", i), certificate, key, s.servers.PEM)
		s.loaded(func() { envoytest.Replace(t, s.files.ClientCA, s.clients.PEM) })
		backend := []string{"b", "a"}[i%2]
		s.write("edited.yaml", s.route("edited", backend))
		s.waitFor("edited", backend)
	}
	if after, err := s.streams(); err != nil || !slices.Equal(before, after) {
		t.Errorf("streams %v became %v, %v", before, after, err)
	}
	if connections := envoy.Stat("cluster.gatefold.upstream_cx_total"); connections != 1 {
		t.Errorf("%d connections to gatefold", connections)
	}
	s.stop()
	s.start()
	s.write("edited.yaml", s.route("edited", "b"))
	s.waitFor("edited", "b")
	wantNoFailure(t, load, 2_000)
	if failed := envoy.Stat("cluster.gatefold.ssl.connection_error"); failed > 0 {
		t.Errorf("%d handshakes failed", failed)
	}
}

// rotate replaces an Envoy's files and waits until it has read them.
func (e *edge) rotate(envoy *envoytest.Envoy, version string, certificate, key, authority []byte) {
	e.t.Helper()
	const updates = "cluster.gatefold.client_ssl_socket_factory.ssl_context_update_by_sds"
	before := envoy.Stat(updates)
	e.swap(version, certificate, key, authority)
	envoytest.Wait(e.t, "Envoy to read "+version, func() error {
		if now := envoy.Stat(updates); now == before { // it compares what it reads
			return fmt.Errorf("%d updates, then %d", before, now)
		}
		return nil
	})
}

// loaded waits until gatefold has loaded what change does to its files.
func (s *secured) loaded(change func()) {
	s.t.Helper()
	type state struct {
		TLS struct{ Changed, Problem string }
	}
	var before state
	if err := s.page("/api/v1/transport", &before); err != nil {
		s.t.Fatal(err)
	}
	change()
	envoytest.Wait(s.t, "gatefold to load its files", func() error {
		var now state
		err := s.page("/api/v1/transport", &now)
		if err == nil && (now == before || now.TLS.Problem != "") {
			err = fmt.Errorf("they are %+v", now)
		}
		return err
	})
}

// An Envoy that finds gatefold by a unix socket is served, over a restart.
func TestAnEnvoyConnectsToASocket(t *testing.T) {
	s := &secured{served: newServed(t, "x")}
	host, _, _ := net.SplitHostPort(s.address)
	s.xds, s.admin = "unix:"+filepath.Join(t.TempDir(), "xds.sock"), net.JoinHostPort(host, fmt.Sprint(envoytest.FreePort(t)))
	s.start()
	s.edge(nil, nil, nil).connect("edge-1")
	s.waitFor("x", "a")
	s.stop()
	s.start()
	s.write("x.yaml", s.route("x", "b"))
	s.waitFor("x", "b")
}
