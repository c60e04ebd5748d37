package health_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/gatefold/gatefold/server/health"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// secret stands in whatever a hostile server sends; nothing of that may be shown.
const secret = "s3cret"

// edge lets a server pass for the Envoy edge-1, until it is asked for clusters.
func edge(clusters http.HandlerFunc) *http.ServeMux {
	pages := http.NewServeMux()
	pages.HandleFunc("/server_info", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"version":"x","node":{"id":"edge-1"}}`)
	})
	pages.HandleFunc("/clusters", clusters)
	return pages
}

// listen serves pages on loopback.
func listen(t *testing.T, pages http.Handler) string {
	t.Helper()
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// No server that an address leads to can do more than to be unknown.
func TestAHostileServerIsUnknown(t *testing.T) {
	var visits atomic.Int32
	visit := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) })
	redirect := func(to string) http.HandlerFunc {
		return http.RedirectHandler(to+"/"+secret, http.StatusFound).ServeHTTP
	}
	away := redirect("http://" + listen(t, visit))
	toItself := edge(redirect(""))
	toItself.Handle("/"+secret, visit)
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	// endless writes until nobody reads any more.
	endless := func(before, over string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, err := fmt.Fprint(w, before)
			for over = strings.Repeat(over, 10_000); err == nil; {
				_, err = fmt.Fprint(w, over)
			}
		}
	}
	// What has no end is given up by its size or, on a busy machine, by the time it takes.
	const notEnvoy, givenUp = "does not answer as Envoy does", ""
	for name, c := range map[string]struct {
		pages http.Handler
		want  string
	}{
		"redirects at once":   {away, notEnvoy},
		"redirects":           {edge(away), notEnvoy},
		"redirects to itself": {toItself, notEnvoy},
		"refuses":             {edge(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, http.StatusForbidden) }), notEnvoy},
		"another Envoy":       {say(`{"node":{"id":"` + secret + `"}}`), "another Envoy answers there"},
		"no JSON":             {edge(say("<html>" + secret)), notEnvoy},
		"other JSON":          {edge(say(`{"` + secret + `":[]}`)), notEnvoy},
		"other values":        {edge(say(`{"cluster_statuses":["` + secret + `"]}`)), notEnvoy},
		"no address":          {edge(say(`{"cluster_statuses":[{"host_statuses":[{"health_status":{"failed_outlier_check":true}}]}]}`)), notEnvoy},
		"broken off":          {edge(say(`{"cluster_statuses":[{"name":"a"}`)), notEnvoy},
		"endless name":        {edge(endless(`{"cluster_statuses":[{"name":"`, secret)), givenUp},
		"endless hosts":       {edge(endless(`{"cluster_statuses":[{"host_statuses":[{}`, ",{}")), givenUp},
		"endless info":        {endless(`{"node":{"id":"`, secret), givenUp},
		"large headers":       {edge(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat(secret, 10_000)) }), notEnvoy},
	} {
		t.Run(name, func(t *testing.T) {
			at := admit(t, listen(t, c.pages), onLoopback(), "")
			wantUnknown(t, at, c.want)
		})
	}
	if n := visits.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func wantUnknown(t *testing.T, at health.Address, want string) {
	t.Helper()
	got := health.Envoy{Node: "edge-1"}
	got.Ask(t.Context(), at, known("a"))
	if got.Unknown == nil || !strings.Contains(got.Unknown.Message, want) {
		t.Fatalf("got %+v, want %q", got, want)
	}
	if strings.Contains(got.Unknown.Message, secret) || got.Endpoints > 0 || got.Backends != nil {
		t.Errorf("it shows what the server sent: %+v", got)
	}
}

// known is what gatefold knows of backends of these names.
func known(names ...string) map[string]*ir.Cluster {
	clusters := map[string]*ir.Cluster{}
	for _, name := range names {
		clusters[name] = &ir.Cluster{
			Name: name, Objects: []manifest.Key{{Kind: "Backend", Namespace: "shop", Name: name}},
			Upstream: &ir.Upstream{HealthCheck: new(ir.HealthCheck)}, // else nobody checks it
		}
	}
	return clusters
}

// A server that accepts and says nothing is given up, without a limit by the caller, too.
func TestASilentServerIsUnknown(t *testing.T) {
	released := make(chan struct{})
	at := admit(t, listen(t, edge(func(http.ResponseWriter, *http.Request) { <-released })), onLoopback(), "")
	defer close(released)
	wantUnknown(t, at, "did not answer in time")
}

func TestAnAddressWithoutAServerIsUnknown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	wantUnknown(t, admit(t, listener.Addr().String(), onLoopback(), ""), "nothing listens there")
}

// A link beside gatefold's socket does not lead away from there.
func TestOnlyASocketItselfIsAsked(t *testing.T) {
	folder, other := t.TempDir(), filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", other)
	if err != nil {
		t.Fatal(err)
	}
	var visits atomic.Int32
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		visits.Add(1)
	})}}
	server.Start()
	defer server.Close()
	path := func(name string) string { return filepath.Join(folder, name) }
	if err := os.Symlink(other, path("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("file"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"link": "not a socket", "file": "not a socket", "none": "nothing listens there"} {
		wantUnknown(t, admit(t, "unix:"+path(name), onSocket(), path("xds.sock")), want)
	}
	if n := visits.Load(); n > 0 {
		t.Errorf("a link was followed %d times", n)
	}
}

// Each flag of Envoy's own message is a reason.
func TestReasonsOfEnvoysFlags(t *testing.T) {
	for _, c := range []struct {
		status *adminv3.HostHealthStatus
		want   []health.Reason
	}{
		{&adminv3.HostHealthStatus{EdsHealthStatus: corev3.HealthStatus_HEALTHY}, nil},
		{&adminv3.HostHealthStatus{PendingDynamicRemoval: true}, nil},
		{&adminv3.HostHealthStatus{FailedActiveHealthCheck: true}, []health.Reason{health.CheckFailed}},
		{&adminv3.HostHealthStatus{FailedActiveHealthCheck: true, PendingActiveHc: true}, []health.Reason{health.CheckPending}},
		{&adminv3.HostHealthStatus{FailedActiveHealthCheck: true, ActiveHcTimeout: true}, []health.Reason{health.CheckTimeout}},
		{&adminv3.HostHealthStatus{FailedActiveDegradedCheck: true}, []health.Reason{health.CheckDegraded}},
		{&adminv3.HostHealthStatus{ExcludedViaImmediateHcFail: true}, []health.Reason{health.TurnedAway}},
		{&adminv3.HostHealthStatus{FailedActiveHealthCheck: true, FailedOutlierCheck: true}, []health.Reason{health.CheckFailed, health.Ejected}},
		{&adminv3.HostHealthStatus{EdsHealthStatus: corev3.HealthStatus_DRAINING}, []health.Reason{health.Draining}},
		{&adminv3.HostHealthStatus{EdsHealthStatus: corev3.HealthStatus_UNHEALTHY}, []health.Reason{health.Discovered}},
	} {
		got := ask(t, cluster("a", c.status, healthy()))
		if len(c.want) == 0 {
			if got.Healthy != 2 || got.Backends != nil {
				t.Errorf("%v: %+v", c.status, got)
			}
			continue
		}
		b := got.Backends[0]
		if got.Healthy != 1 || got.Endpoints != 2 || b.Healthy != 1 || b.Endpoints != 2 || b.Object.Name != "a" {
			t.Errorf("%v: %+v", c.status, got)
		}
		e := b.Unhealthy[0]
		if e.Address != "[::1]:5432" || e.Hostname != "db.example" || e.Message == "" || !slices.Equal(e.Reasons, c.want) {
			t.Errorf("%v: %+v, want %v", c.status, e, c.want)
		}
		if b.Wrong() != (c.want[0] != health.Draining) {
			t.Errorf("%v: wrong is %v", c.status, b.Wrong())
		}
	}
}

// Clusters that the folder does not know are no business of the status; a backend
// without endpoints is.
func TestOnlyKnownClustersAreTold(t *testing.T) {
	failed := &adminv3.HostHealthStatus{FailedOutlierCheck: true}
	got := ask(t, cluster("gatefold", failed), cluster("b"), cluster("a", failed), cluster("a", failed))
	if got.Endpoints != 1 || len(got.Backends) != 2 || got.Backends[0].Cluster != "a" || got.Backends[1].Cluster != "b" || !got.Backends[1].Wrong() {
		t.Errorf("got %+v", got)
	}
	if got := ask(t); got.Endpoints != 0 || got.Backends != nil {
		t.Errorf("no clusters: %+v", got)
	}
}

// All are counted, and a thousand listed.
func TestTheListOfEndpointsIsBounded(t *testing.T) {
	failed := slices.Repeat([]*adminv3.HostHealthStatus{{FailedOutlierCheck: true}}, 700)
	got := ask(t, cluster("a", failed...), cluster("b", failed...)).Backends
	if len(got[0].Unhealthy) != 700 || got[0].Unlisted() != 0 || len(got[1].Unhealthy) != 300 || got[1].Unlisted() != 400 {
		t.Errorf("%d and %d are listed", len(got[0].Unhealthy), len(got[1].Unhealthy))
	}
}

func healthy() *adminv3.HostHealthStatus { return &adminv3.HostHealthStatus{} }

func cluster(name string, hosts ...*adminv3.HostHealthStatus) *adminv3.ClusterStatus {
	status := &adminv3.ClusterStatus{Name: name}
	for _, host := range hosts {
		status.HostStatuses = append(status.HostStatuses, &adminv3.HostStatus{
			Hostname: "db.example", HealthStatus: host, Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
				SocketAddress: &corev3.SocketAddress{Address: "::1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 5432}}}},
		})
	}
	return status
}

// ask reads a page of Envoy's own types; the backends a and b are known.
func ask(t *testing.T, clusters ...*adminv3.ClusterStatus) health.Envoy {
	t.Helper()
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(&adminv3.Clusters{ClusterStatuses: clusters})
	if err != nil {
		t.Fatal(err)
	}
	at := admit(t, listen(t, edge(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) })), onLoopback(), "")
	got := health.Envoy{Node: "edge-1"}
	got.Ask(t.Context(), at, known("a", "b"))
	if got.Unknown != nil {
		t.Fatal(got.Unknown.Message)
	}
	return got
}
