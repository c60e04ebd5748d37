package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate/cases"
)

// A canary is asked for reports, and a client that names its Gateway by a text without end is refused.
func TestReportsAreAdmitted(t *testing.T) {
	f := startFolded(t, server.Options{Staging: server.Staging{Wait: time.Minute, MaxErrors: 0.5}})
	conn, err := grpc.NewClient(f.xds.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	open := func(cluster string) error {
		reports, err := lrsv3.NewLoadReportingServiceClient(conn).StreamLoadStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = reports.Send(&lrsv3.LoadStatsRequest{Node: &corev3.Node{Id: "canary-1", Cluster: cluster, Metadata: canaryMetadata()}})
		if err == nil {
			_, err = reports.Recv()
		}
		return err
	}
	if err := open(strings.Repeat("x", 513)); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a long name: %v", err)
	}
	if err := open("default/eg"); err != nil {
		t.Fatal(err)
	}
}

// failing is a folder whose route /shop goes to one of several backends.
type failing struct {
	*stagedEnvoys
	backends string
}

func (f *failing) goes(backend string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files["shop.yaml"] = fmt.Appendf(nil, `%sapiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: eg}]
  rules:
  - matches: [{path: {value: /shop}}]
    backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: %s}]
`, f.backends, backend)
	f.Publish(f.translator.Apply(f.store.Apply(cases.Tree(f.files))))
}

// Real Envoys: what fails on the canary does not reach the other, whether a backend answers 500 or none is there; and the
// problem is of the rule that was edited.
func TestRequestsThatFailOnACanaryFreezeTheRevision(t *testing.T) {
	t.Parallel() // it waits for reports, which come every five seconds
	serve := func(status int) string {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(backend.Close)
		return strings.TrimPrefix(backend.URL, "http://127.0.0.1:")
	}
	f := &failing{stagedEnvoys: startStagedEnvoysWith(t, server.Staging{Wait: time.Hour, MaxErrors: 0.05})}
	for name, port := range map[string]string{"good": serve(200), "broken": serve(500), "away": "1"} {
		f.backends += fmt.Sprintf("apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: %s}\nspec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: %s}]}}\n---\n", name, port)
	}
	f.route("other", "other.example", "")
	f.goes("good")
	canary, edge := f.canary("canary-1"), f.small("edge-1")
	f.has(canary, "Backend/default/good")
	f.has(edge, "Backend/default/good")
	stop := f.asks("/shop")
	defer stop()
	for _, backend := range []string{"broken", "away"} {
		f.goes(backend)
		f.frozen(httpRoute("shop"), "spec.rules[0]", "requests that Envoys of stage canary sent to Backend/default/"+backend, "The changed route", "stay on revision")
		other := "other-" + backend + ".example"
		f.route("other", other, "") // which is in the same table, and does not help
		f.has(canary, other)
		f.frozen(httpRoute("shop"), "spec.rules[0]", "requests that Envoys of stage canary sent to Backend/default/"+backend)
		if dump := edge.ConfigDump(); strings.Contains(dump, "Backend/default/"+backend) || strings.Contains(dump, other) {
			t.Errorf("the other Envoy has %s", dump)
		}
		f.route("other", "other.example", "") // or else it is on the canary for an hour
		f.goes("good")
		envoytest.Wait(t, "the revert to be enough", func() error {
			f.guard.Lock()
			defer f.guard.Unlock()
			if len(f.problems) > 0 {
				return fmt.Errorf("problems: %v", f.problems)
			}
			return nil
		})
	}
}

// asks sends requests on new connections, which go to any of the Envoys, until stop is called.
func (s *stagedEnvoys) asks(path string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				_, _ = envoytest.Try(envoytest.Request{Address: s.address, Path: path})
			}
		}
	}()
	return func() { close(done); <-ended }
}
