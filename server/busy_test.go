package server_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/translate"
)

// A change that takes long is told on the page of problems and by a metric, and after a minute
// gatefold is not ready for new Envoys; it is again when the change is applied. The gRPC health
// service says the same as /readyz, to those who ask and to those who watch.
func TestBusyIsTold(t *testing.T) {
	var now atomic.Pointer[admin.Busy]
	now.Store(&admin.Busy{})
	r := start(t, server.Options{Folder: askedFolder{busy: func() admin.Busy { return *now.Load() }}})
	conn, err := grpc.NewClient(r.xds.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	health := healthv1.NewHealthClient(conn)
	watch, err := health.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	watched := healthv1.HealthCheckResponse_UNKNOWN
	healthIs := func(ready bool) {
		t.Helper()
		want := healthv1.HealthCheckResponse_NOT_SERVING
		if ready {
			want = healthv1.HealthCheckResponse_SERVING
		}
		if got, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil || got.GetStatus() != want {
			t.Errorf("%+v: the health service says %v %v, want %v", *now.Load(), got.GetStatus(), err, want)
		}
		for watched != want {
			got, err := watch.Recv()
			if err != nil {
				t.Fatal(err)
			}
			watched = got.GetStatus()
		}
	}
	healthIs(false)
	r.Publish(translate.Result{})
	for _, step := range []struct {
		busy  admin.Busy
		ready int
		words string
	}{
		{admin.Busy{}, http.StatusOK, ""},
		{admin.Busy{Step: "translate", Took: 9 * time.Second, Behind: 9 * time.Second}, http.StatusOK, ""},
		{admin.Busy{Step: "translate", Took: 10 * time.Second, Behind: 11 * time.Second}, http.StatusOK, "the step translate for 11 s"},
		{admin.Busy{Step: "translate", Took: 59 * time.Second, Behind: 60 * time.Second}, http.StatusServiceUnavailable, "the step translate for 60 s"},
		{admin.Busy{Step: "store", Took: 0, Behind: 61 * time.Second}, http.StatusServiceUnavailable, "the step store for 61 s"},
		{admin.Busy{}, http.StatusOK, ""},
	} {
		now.Store(&step.busy)
		healthIs(step.ready == http.StatusOK)
		code, body := r.page(t, http.MethodGet, "/readyz", "")
		if code != step.ready || code != http.StatusOK && !strings.Contains(body, step.words) {
			t.Errorf("%+v: ready %d %s", step.busy, code, body)
		}
		if body := r.get(t, "/api/v1/problems"); strings.Contains(body, `"busy"`) != (step.words != "") || !strings.Contains(body, step.words) {
			t.Errorf("%+v: %s", step.busy, body)
		}
	}
	now.Store(&admin.Busy{Step: "locate", Took: 3 * time.Second, Behind: 4 * time.Second})
	r.figures(t, `gatefold_pipeline_busy_seconds{step="locate"} 3`, `gatefold_pipeline_busy_seconds{step="translate"} 0`)
}
