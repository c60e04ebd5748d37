package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/translate"
)

// A change that takes long is told on the page of problems and by a metric, and after a minute
// gatefold is not ready for new Envoys; it is again when the change is applied.
func TestBusyIsTold(t *testing.T) {
	var busy Busy
	r := start(t, Options{Busy: func() Busy { return busy }})
	r.Publish(translate.Result{})
	for _, step := range []struct {
		busy  Busy
		ready int
		words string
	}{
		{Busy{}, http.StatusOK, ""},
		{Busy{"translate", 9 * time.Second, 9 * time.Second}, http.StatusOK, ""},
		{Busy{"translate", 10 * time.Second, 11 * time.Second}, http.StatusOK, "the step translate for 11 s"},
		{Busy{"translate", 59 * time.Second, 60 * time.Second}, http.StatusServiceUnavailable, "the step translate for 60 s"},
		{Busy{"store", 0, 61 * time.Second}, http.StatusServiceUnavailable, "the step store for 61 s"},
		{Busy{}, http.StatusOK, ""},
	} {
		busy = step.busy
		code, body := r.page(t, http.MethodGet, "/readyz", "")
		if code != step.ready || code != http.StatusOK && !strings.Contains(body, step.words) {
			t.Errorf("%+v: ready %d %s", step.busy, code, body)
		}
		if body := r.get(t, "/api/v1/problems"); strings.Contains(body, `"busy"`) != (step.words != "") || !strings.Contains(body, step.words) {
			t.Errorf("%+v: %s", step.busy, body)
		}
	}
	busy = Busy{"locate", 3 * time.Second, 4 * time.Second}
	r.figures(t, `gatefold_pipeline_busy_seconds{step="locate"} 3`, `gatefold_pipeline_busy_seconds{step="translate"} 0`)
}
