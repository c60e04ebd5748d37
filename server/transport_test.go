package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/mtls"
)

// secured is a server that asks for certificates.
type secured struct {
	*running
	servers, clients *envoytest.Authority
	files            mtls.Files
	log              *lines
}

func startSecured(t *testing.T, options server.Options) *secured {
	t.Helper()
	s := &secured{servers: envoytest.NewAuthority(t), clients: envoytest.NewAuthority(t), log: &lines{}}
	folder := t.TempDir()
	s.files = mtls.Files{
		Cert: filepath.Join(folder, "tls.crt"), Key: filepath.Join(folder, "tls.key"), ClientCA: filepath.Join(folder, "ca.crt"),
	}
	certificate, key := s.servers.Issue("127.0.0.1")
	envoytest.Replace(t, s.files.Cert, certificate)
	envoytest.Replace(t, s.files.Key, key)
	envoytest.Replace(t, s.files.ClientCA, s.clients.PEM)
	options.TLS, options.TLSInterval = s.files, time.Millisecond
	s.running = startLogged(t, options, zerolog.New(s.log))
	return s
}

// as returns the credentials of a client of the right authority.
func (s *secured) as(names ...string) credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		RootCAs: s.servers.Pool(), ServerName: "127.0.0.1", Certificates: []tls.Certificate{s.clients.Pair(names...)},
	})
}

// lines is a log that tests read.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// with counts the lines that hold all of parts.
func (l *lines) with(parts ...string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := 0
	for line := range strings.Lines(l.text.String()) {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(line, part)
		}
		if has {
			count++
		}
	}
	return count
}

func TestACertificateIsServedItsGatewaysAndNoOther(t *testing.T) {
	s := startSecured(t, server.Options{Grants: mtls.Grants{"all.example": {mtls.All}}})
	s.publish("Secret tls@a", "Cluster web@a", "shop/b: Secret tls@b", "shop/b: Cluster web@b")
	a := s.openBy("shop/a", s.as("spiffe://td/gateway/shop/a"))
	go a.read()
	a.ask(sds, "tls")
	a.take("Secret tls@a")
	for range 3 { // Envoy comes again
		_, err := s.tryBy("shop/b", s.as("spiffe://td/gateway/shop/a"))
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "is for shop/a only") {
			t.Errorf("another's Gateway: %v", err)
		}
	}
	for cluster, name := range map[string]string{"all": "spiffe://td/gateway/shop/a", "shop/a": "edge.example", "": "edge.example"} {
		if _, err := s.tryBy(cluster, s.as(name)); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%q to %s: %v", cluster, name, err)
		}
	}
	all := s.openBy("all", s.as("all.example"))
	go all.read()
	all.ask(cds)
	all.take("Cluster web@a")
	a.ask(cds)
	a.take("Cluster web@a")

	if got := s.log.with(`"level":"warn"`, `"identity":"spiffe://td/gateway/shop/a"`, `"cluster":"shop/b"`, "refused"); got != 1 {
		t.Errorf("%d lines tell of three refusals of one Envoy", got)
	}
	var page admin.Transport
	s.read(t, "/api/v1/transport", &page)
	if len(page.RejectedClients) != 4 {
		t.Fatalf("rejected clients are %+v", page.RejectedClients)
	}
	row := page.RejectedClients[0]
	if row.Times != 3 || row.Node != "test" || row.Cluster != "shop/b" || row.Peer != "127.0.0.1" || !strings.Contains(row.Reason, "shop/a only") {
		t.Errorf("the row is %+v", row)
	}
	s.figures(t, `gatefold_xds_refused_total{cause="identity"} 6`, `gatefold_xds_tls_reload_successful 1`)
	var dump admin.XDS
	s.read(t, "/api/v1/xds", &dump)
	if len(dump.Streams) != 2 || dump.Streams[0].Identity != "spiffe://td/gateway/shop/a" {
		t.Errorf("the streams are %+v", dump.Streams)
	}
}

func TestHandshakesThatFailAreTold(t *testing.T) {
	s := startSecured(t, server.Options{})
	s.publish("Cluster web@1")
	good := s.clients.Pair("spiffe://td/gateway/shop/a")
	for reason, by := range map[string]credentials.TransportCredentials{
		"shows no certificate": credentials.NewTLS(&tls.Config{RootCAs: s.servers.Pool()}),
		"not signed by an authority of --xds-tls-client-ca": credentials.NewTLS(&tls.Config{
			RootCAs: s.servers.Pool(),
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				other := envoytest.NewAuthority(t).Pair("spiffe://td/gateway/shop/a")
				return &other, nil
			},
		}),
		"does not speak TLS 1.3": credentials.NewTLS(&tls.Config{
			RootCAs: s.servers.Pool(), Certificates: []tls.Certificate{good}, MaxVersion: tls.VersionTLS12,
		}),
		"does not speak TLS:":            insecure.NewCredentials(),
		"refuses gatefold's certificate": credentials.NewTLS(&tls.Config{RootCAs: s.clients.Pool(), Certificates: []tls.Certificate{good}}),
	} {
		c, err := s.tryBy("shop/a", by)
		if err == nil {
			t.Fatalf("%q: served %s", reason, c)
		}
		s.until(reason, func() bool {
			var page admin.Transport
			s.read(t, "/api/v1/transport", &page)
			return slices.ContainsFunc(page.RejectedClients, func(row admin.RejectedClient) bool { return strings.Contains(row.Reason, reason) })
		})
	}
	s.figures(t, `gatefold_xds_refused_total{cause="silent"} 0`)
	c := s.openBy("shop/a", s.as("spiffe://td/gateway/shop/a"))
	go c.read()
	c.ask(cds)
	c.take("Cluster web@1")
}

// tryBy asks for clusters and gives what comes, or why nothing does.
func (r *running) tryBy(cluster string, by credentials.TransportCredentials) (string, error) {
	conn, err := grpc.NewClient(r.xds.String(), grpc.WithTransportCredentials(by))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return "", err
	}
	first := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: &corev3.Node{Id: "test", Cluster: cluster}}
	if err := stream.Send(first); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	response, err := stream.Recv()
	if err != nil {
		return "", err
	}
	return show(response), nil
}

// New files serve who comes, and a stream that stands goes on; broken ones
// change nothing and are told.
func TestRotationKeepsStreamsAndServesWhoComes(t *testing.T) {
	s := startSecured(t, server.Options{})
	s.publish("Cluster web@1")
	stands := s.openBy("shop/a", s.as("spiffe://td/gateway/shop/a"))
	go stands.read()
	stands.ask(cds)
	stands.take("Cluster web@1")

	s.servers, s.clients = envoytest.NewAuthority(t), envoytest.NewAuthority(t)
	certificate, key := s.servers.Issue("127.0.0.1")
	envoytest.Replace(t, s.files.Cert, certificate)
	s.untilTLS("the key does not fit", func(state *admin.TLS) bool { return state.Problem != "" })
	s.figures(t, `gatefold_xds_tls_reload_successful 0`)
	if got := s.log.with(`"level":"error"`, "loaded before is still used", "tls.crt"); got != 1 {
		t.Errorf("%d lines tell of the broken files", got)
	}
	var page admin.Transport
	s.read(t, "/api/v1/transport", &page)
	if page.TLS == nil || !strings.Contains(page.TLS.Problem, "private key does not match") {
		t.Errorf("the page says %+v", page.TLS)
	}
	envoytest.Replace(t, s.files.Key, key)
	envoytest.Replace(t, s.files.ClientCA, s.clients.PEM)
	envoytest.Wait(t, "the new authorities", func() error {
		_, err := s.tryBy("shop/a", s.as("spiffe://td/gateway/shop/a"))
		return err
	})
	s.untilTLS("all is well", func(state *admin.TLS) bool { return state.Problem == "" })
	s.publish("Cluster web@2")
	stands.take("Cluster web@2")
}

// untilTLS waits until a condition holds of the certificate files, as the page of the transport shows them.
func (s *secured) untilTLS(what string, holds func(*admin.TLS) bool) {
	s.t.Helper()
	s.until(what, func() bool {
		var page admin.Transport
		s.read(s.t, "/api/v1/transport", &page)
		return page.TLS != nil && holds(page.TLS)
	})
}

// What does not speak, speaks nonsense or stops half way is cut off, and who
// speaks well is served meanwhile.
func TestGarbageOnThePort(t *testing.T) {
	for name, start := range map[string]func() *running{
		"plain": func() *running { return start(t, server.Options{ConnectionTime: 100 * time.Millisecond}) },
		"TLS": func() *running {
			return startSecured(t, server.Options{ConnectionTime: 100 * time.Millisecond}).running
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := start()
			for _, text := range []string{
				"", "\x00", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\xff", 100),
				strings.Repeat("A", 1<<16), "\x16\x03\x01\x02\x00", "PRI * HTTP/2.0\r\n",
			} {
				conn, err := net.Dial("tcp", r.xds.String())
				if err != nil {
					t.Fatal(err)
				}
				_ = conn.SetDeadline(time.Now().Add(patience))
				_, _ = conn.Write([]byte(text))
				if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%.20q: the connection stays", text)
				}
				conn.Close()
			}
			if name == "plain" {
				r.publish("Cluster web@1")
				c := r.connect("shop/a")
				c.ask(cds)
				c.take("Cluster web@1")
			}
		})
	}
}

func TestARequestOf64MiBIsRead(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1")
	c := r.connect("shop/a")
	versions := map[string]string{}
	for i := range 60_000 { // a reconnect of an Envoy that holds as many
		versions[fmt.Sprintf("cluster-with-a-name-as-long-as-names-usually-are/%d", i)] = strings.Repeat("v", 64)
	}
	c.resume(cds, versions)
	if got := show(c.next()); !strings.Contains(got, "Cluster web@1") {
		t.Errorf("got %.100q", got)
	}
}

func TestTheModeOfASocket(t *testing.T) {
	folder := t.TempDir()
	for mode, want := range map[fs.FileMode]fs.FileMode{0: 0o600, 0o660: 0o660, 0o666: 0o666} {
		path := filepath.Join(folder, fmt.Sprintf("%o.sock", want))
		start(t, server.Options{XDSAddress: "unix:" + path, SocketMode: mode})
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%v, %v; want %v", info.Mode(), err, want)
		}
	}
}

func TestOnlyLeftSocketsAreRemoved(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file: "a file that is not a socket", link: "a file that is not a socket", folder: "a file that is not a socket",
		"@gatefold-test": "any user of this host", filepath.Join(folder, "none", "x"): "no such file",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience) // should it serve
		err := server.New(server.Options{XDSAddress: "unix:" + path, AdminAddress: "127.0.0.1:0"}, zerolog.Nop()).Run(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// A page of the world that a browser of this host shows reaches neither the
// loopback pages nor those on all interfaces by a name of its own.
func TestNamesOfOthersAreRefusedWhereverServed(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		log := &lines{}
		r := startLogged(t, server.Options{AdminAddress: address}, zerolog.New(log))
		_, port, _ := net.SplitHostPort(r.admin.String())
		for host, want := range map[string]int{"evil.example": 403, "evil.example:" + port: 403, "localhost": 200, "127.0.0.1:" + port: 200} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+"/healthz", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("%s as %s: %d, want %d", address, host, response.StatusCode, want)
			}
		}
		if warned := log.with("admin pages are not on loopback") == 1; warned != (address != "127.0.0.1:0") {
			t.Errorf("%s: warned %t", address, warned)
		}
	}
}

// Who sends a header byte by byte, or never ends it, holds no connection.
func TestSlowAdminClientsAreCutOff(t *testing.T) {
	r := start(t, server.Options{ConnectionTime: 100 * time.Millisecond})
	for _, text := range []string{
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", "POST /api/v1/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx",
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: " + strings.Repeat("x", 1<<20),
	} {
		conn, err := net.Dial("tcp", r.admin.String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = conn.Write([]byte(text))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%.60q: the connection stays", text)
		}
		conn.Close()
	}
	if code, _ := r.page(t, "GET", "/debug/pprof/", "localhost"); code != http.StatusNotFound {
		t.Errorf("pprof answers %d", code)
	}
}

func TestALongNodeIsRefusedOrCut(t *testing.T) {
	r := start(t, server.Options{})
	r.publish("Cluster web@1")
	if _, err := r.tryBy("shop/"+strings.Repeat("a", 512), insecure.NewCredentials()); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	long := strings.Repeat("é", 1<<20)
	c := r.open("")
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: &corev3.Node{
		Id: "x" + long, Cluster: "shop/a", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: long},
	}})
	r.until("connected", func() bool { return len(r.audience("shop/a")) == 1 })
	if st := r.audience("shop/a")[0]; len(st.Node) != 255 || len(st.Envoy) > 256 {
		t.Errorf("shown are %d and %d bytes", len(st.Node), len(st.Envoy))
	}
}
