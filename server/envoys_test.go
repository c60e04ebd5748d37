package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/health"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// claiming opens a stream of an Envoy that claims to have its admin interface there.
func (r *running) claiming(node, admin string) {
	r.t.Helper()
	c := r.connect("")
	metadata, err := structpb.NewStruct(map[string]any{envoy.AdminAddressKey: admin})
	if err != nil {
		r.t.Fatal(err)
	}
	before := len(r.audience("shop/a"))
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: cds, Node: &corev3.Node{Id: node, Cluster: "shop/a", Metadata: metadata}})
	r.until("connected", func() bool { return len(r.audience("shop/a")) == before+1 })
}

// envoys is the page /api/v1/envoys.
func (r *running) envoys(t *testing.T) []health.Envoy {
	t.Helper()
	var list admin.EnvoyList
	r.read(t, "/api/v1/envoys", &list)
	return list.Envoys
}

// An Envoy is asked when a user asks, where it may be asked, and never else.
func TestEnvoysAreAskedOnDemand(t *testing.T) {
	var visits atomic.Int32
	hostile := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer hostile.Close()
	admin := hostile.Listener.Addr().String()
	r := start(t, server.Options{})
	r.publish("Cluster web@1")
	r.claiming("b", strings.Replace(admin, "127.0.0.1", "localhost", 1))
	r.claiming("a", admin)
	for _, page := range []string{"/api/v1/status", "/api/v1/xds", "/api/v1/problems", "/metrics"} {
		r.get(t, page)
	}
	if n := visits.Load(); n > 0 {
		t.Errorf("%d visits before anybody asked", n)
	}
	got := r.envoys(t)
	if len(got) != 2 || got[0].Node != "a" || got[0].NodeCluster != "shop/a" || got[0].Peer == "" {
		t.Fatalf("got %+v", got)
	}
	if got[0].Unknown == nil || !strings.Contains(got[0].Unknown.Message, "does not answer as Envoy does") {
		t.Errorf("the loopback address: %+v", got[0])
	}
	if got[1].Unknown == nil || !strings.Contains(got[1].Unknown.Message, "is not a port on loopback") {
		t.Errorf("the name: %+v", got[1])
	}
	if n := visits.Load(); n != 1 {
		t.Errorf("the page made %d visits, want 1", n)
	}
}

// A page that nobody reaches tells an empty list, not null.
func TestNoEnvoys(t *testing.T) {
	r := start(t, server.Options{})
	var list map[string]json.RawMessage
	r.read(t, "/api/v1/envoys", &list)
	if string(list["envoys"]) != "[]" {
		t.Errorf("got %s", list)
	}
}

// Two Envoys beside each other, all over sockets of one folder: each is asked at its own,
// and who names another's is found out.
func TestEnvoysAreAskedOverSockets(t *testing.T) {
	folder := t.TempDir()
	socket := func(name string) string { return "unix:" + filepath.Join(folder, name) }
	r := start(t, server.Options{XDSAddress: socket("xds.sock")})
	dead := &ir.Cluster{
		Name: "Service/shop/web/80", Endpoints: []ir.Endpoint{{Host: "127.0.0.1", Port: uint32(envoytest.FreePort(t))}},
		Objects:  []manifest.Key{{Kind: "Service", Namespace: "shop", Name: "web"}},
		Upstream: &ir.Upstream{HealthCheck: &ir.HealthCheck{Timeout: 1e9, Interval: 1e8, Unhealthy: 1, Healthy: 1}},
	}
	empty := &ir.Cluster{Name: "Backend/shop/empty", Objects: []manifest.Key{{Kind: "Backend", Namespace: "shop", Name: "empty"}}}
	r.Publish(translate.Result{
		Delta: []xds.Update{updateOf(xds.Cluster(dead)), updateOf(xds.Cluster(empty))},
		View: func() *ir.View {
			return &ir.View{Clusters: map[string]*ir.Cluster{dead.Name: dead, empty.Name: empty}}
		},
	})
	for _, node := range []string{"a", "b"} {
		envoytest.Start(t, envoytest.Options{XDSAddress: socket("xds.sock"), AdminAddress: socket(node), NodeID: node, NodeCluster: "shop/a"})
	}
	r.until("connected", func() bool { return len(r.audience("shop/a")) == 2 })
	r.claiming("c", socket("b"))
	envoytest.Wait(t, "the health check to fail", func() error {
		got := r.envoys(t)
		for _, e := range got[:2] {
			if e.Unknown != nil || e.Version == "" || e.Endpoints != 1 || e.Healthy != 0 || len(e.Backends) != 2 {
				return fmt.Errorf("%+v", got)
			}
			web := e.Backends[1]
			if web.Object != dead.Objects[0] || web.Port != 80 || web.Unhealthy[0].Reasons[0] != health.CheckFailed || e.Backends[0].Endpoints != 0 {
				return fmt.Errorf("%+v", got)
			}
		}
		if got[2].Node != "c" || got[2].Unknown == nil || !strings.Contains(got[2].Unknown.Message, "another Envoy answers there") {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
}
