package mtls

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// fixture is a folder with sound files, and the keeper of them.
type fixture struct {
	*Keeper
	server           *tls.Config
	t                *testing.T
	folder           string
	servers, clients *envoytest.Authority
	certificate, key []byte
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, folder: t.TempDir(), servers: envoytest.NewAuthority(t), clients: envoytest.NewAuthority(t)}
	f.certificate, f.key = f.servers.Issue("old.example")
	f.write("tls.crt", f.certificate)
	f.write("tls.key", f.key)
	f.write("ca.crt", f.clients.PEM)
	keeper, err := Load(f.files())
	if err != nil {
		t.Fatal(err)
	}
	f.Keeper, f.server = keeper, keeper.Config()
	return f
}

func (f *fixture) files() Files {
	return Files{f.path("tls.crt"), f.path("tls.key"), f.path("ca.crt")}
}

func (f *fixture) path(name string) string { return filepath.Join(f.folder, name) }

func (f *fixture) write(name string, text []byte) {
	f.t.Helper()
	envoytest.Replace(f.t, f.path(name), text)
}

func (f *fixture) remove(name string) {
	f.t.Helper()
	if err := os.RemoveAll(f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

// looks looks n times and gives what the last look told.
func (f *fixture) looks(n int) (changed bool, err error) {
	for range n {
		changed, err = f.look()
	}
	return changed, err
}

// serves shakes hands and gives the name in the server's certificate.
func (f *fixture) serves(client *tls.Config) (string, error) {
	conn, _, err := f.shake(client)
	if err != nil {
		return "", err
	}
	return conn.ConnectionState().PeerCertificates[0].DNSNames[0], nil
}

// shake returns the client's side, and whom the server sees, by which the client
// knows that it was let in.
func (f *fixture) shake(client *tls.Config) (*tls.Conn, string, error) {
	here, there := net.Pipe()
	for _, end := range []net.Conn{here, there} {
		_ = end.SetDeadline(time.Now().Add(20 * time.Second)) // reached only by a fault
	}
	server := tls.Server(there, f.server)
	go func() {
		defer there.Close()
		if server.Handshake() == nil {
			_, _ = server.Write([]byte(server.ConnectionState().PeerCertificates[0].DNSNames[0]))
		}
	}()
	defer here.Close()
	client.InsecureSkipVerify = true // whom it serves is asked here
	conn := tls.Client(here, client)
	seen := make([]byte, 100)
	n, err := conn.Read(seen)
	return conn, string(seen[:n]), err
}

func (f *fixture) want(name string) {
	f.t.Helper()
	got, err := f.serves(&tls.Config{Certificates: []tls.Certificate{f.clients.Pair("edge.example")}})
	if err != nil || got != name {
		f.t.Errorf("served is %q, %v; want %q", got, err, name)
	}
}

func TestOnlyClientsOfTheAuthorityAreServedAndOnlyByTLS13(t *testing.T) {
	f := newFixture(t)
	f.want("old.example")
	good := []tls.Certificate{f.clients.Pair("edge.example")}
	for name, client := range map[string]*tls.Config{
		"none":             {},
		"of another":       {Certificates: []tls.Certificate{envoytest.NewAuthority(t).Pair("edge.example")}},
		"of the server's":  {Certificates: []tls.Certificate{f.servers.Pair("edge.example")}},
		"with TLS 1.2":     {Certificates: good, MaxVersion: tls.VersionTLS12},
		"by one's own key": {Certificates: []tls.Certificate{{Certificate: good[0].Certificate, PrivateKey: newFixture(t).clients.Pair().PrivateKey}}},
	} {
		if _, err := f.serves(client); err == nil {
			t.Errorf("a certificate %s: served", name)
		}
	}
}

func TestNewFilesAreServedOnceTheyRest(t *testing.T) {
	f := newFixture(t)
	certificate, key := f.servers.Issue("new.example")
	f.write("tls.crt", certificate) // the key does not fit yet
	if changed, err := f.looks(1); changed || err != nil {
		t.Errorf("the first look at half a change says %t, %v", changed, err)
	}
	f.write("tls.key", key)
	if changed, _ := f.looks(1); changed {
		t.Error("a change counts at its first look")
	}
	if changed, err := f.looks(1); !changed || err != nil {
		t.Errorf("the second look says %t, %v", changed, err)
	}
	f.want("new.example")
	if changed, _ := f.looks(3); changed {
		t.Error("a change is told twice")
	}
}

func TestFilesThatCannotBeUsedLeaveTheOldOnesServing(t *testing.T) {
	junk := []byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
	for name, test := range map[string]struct {
		spoil func(*fixture)
		want  string
	}{
		"a key that does not fit": {func(f *fixture) { _, key := f.servers.Issue("x"); f.write("tls.key", key) }, "private key does not match"},
		"a certificate gone":      {func(f *fixture) { f.remove("tls.crt") }, "no such file"},
		"an empty certificate":    {func(f *fixture) { f.write("tls.crt", nil) }, "tls.crt"},
		"no authority":            {func(f *fixture) { f.write("ca.crt", []byte("hello")) }, "it holds no certificate in PEM"},
		"a broken authority": {func(f *fixture) {
			f.write("ca.crt", append(f.clients.PEM[:len(f.clients.PEM):len(f.clients.PEM)], junk...))
		}, "ca.crt"},
		"half an authority": {func(f *fixture) {
			f.write("ca.crt", append(f.clients.PEM[:len(f.clients.PEM):len(f.clients.PEM)], f.clients.PEM[:200]...))
		}, "cut off"},
		"a key as authority": {func(f *fixture) { f.write("ca.crt", f.key) }, "it holds a PRIVATE KEY"},
		"a pipe":             {func(f *fixture) { f.remove("tls.key"); _ = syscall.Mkfifo(f.path("tls.key"), 0o600) }, "is not a file"},
		"a folder":           {func(f *fixture) { f.remove("ca.crt"); _ = os.Mkdir(f.path("ca.crt"), 0o700) }, "is not a file"},
		"too much":           {func(f *fixture) { f.write("ca.crt", make([]byte, maxFile+1)) }, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			test.spoil(f)
			changed, err := f.looks(2)
			if !changed || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("told: %t, %v; want %q", changed, err, test.want)
			}
			if state := f.State(); state.Problem != err.Error() || strings.Contains(state.Problem, string(f.key[30:60])) {
				t.Errorf("the state is %+v", state)
			}
			f.want("old.example")
			if _, err := Load(f.files()); err == nil {
				t.Error("the same files are good enough to start with")
			}
			// What was there before ends it.
			f.remove("tls.key")
			f.remove("ca.crt")
			f.write("tls.crt", f.certificate)
			f.write("tls.key", f.key)
			f.write("ca.crt", f.clients.PEM)
			if changed, err := f.looks(2); !changed || err != nil || f.State().Problem != "" {
				t.Errorf("mended: %t, %v, %+v", changed, err, f.State())
			}
		})
	}
}

// Kubernetes mounts files behind two links, of which the inner one is swapped;
// certbot swaps the link itself.
func TestSwappedLinksAreFollowed(t *testing.T) {
	f := newFixture(t)
	link := func(target, name string) {
		t.Helper()
		if err := errors.Join(os.Symlink(target, f.path(".new")), os.Rename(f.path(".new"), f.path(name))); err != nil {
			t.Fatal(err)
		}
	}
	tree := func(version string) {
		t.Helper()
		certificate, key := f.servers.Issue(version + ".example")
		if err := os.Mkdir(f.path(version), 0o700); err != nil {
			t.Fatal(err)
		}
		f.write(version+"/tls.crt", certificate)
		f.write(version+"/tls.key", key)
		f.write(version+"/ca.crt", f.clients.PEM)
	}
	tree("v1")
	link("v1", "..data")
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		link("..data/"+name, name)
	}
	if changed, err := f.looks(2); !changed || err != nil {
		t.Fatalf("%t, %v", changed, err)
	}
	f.want("v1.example")
	tree("v2")
	link("v2", "..data")
	_, _ = f.looks(2)
	f.want("v2.example")
	tree("v3")
	link("v3/tls.crt", "tls.crt")
	link("v3/tls.key", "tls.key")
	_, _ = f.looks(2)
	f.want("v3.example")
}

// A session that is taken up again would show the certificate of then, with an
// authority or names that hold no more.
func TestNoSessionIsTakenUpAgain(t *testing.T) {
	f := newFixture(t)
	client := &tls.Config{ServerName: "old.example", ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for _, name := range []string{"before.example", "after.example"} {
		client.Certificates = []tls.Certificate{f.clients.Pair(name)}
		if _, seen, err := f.shake(client); err != nil || seen != name {
			t.Errorf("the server sees %q, %v; want %q", seen, err, name)
		}
	}
	f.write("ca.crt", envoytest.NewAuthority(t).PEM)
	if changed, err := f.looks(2); !changed || err != nil {
		t.Fatalf("%t, %v", changed, err)
	}
	if _, _, err := f.shake(client); err == nil {
		t.Error("an authority that is gone lets clients in")
	}
}

func TestWatchTellsOfEachChange(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		f.Watch(ctx, time.Millisecond, func(err error) { told <- err })
	}()
	f.write("ca.crt", []byte("hello"))
	if err := <-told; err == nil {
		t.Error("a broken file is told as good")
	}
	f.write("ca.crt", f.clients.PEM)
	if err := <-told; err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
}
