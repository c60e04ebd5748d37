package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
)

// A page that panics answers 500 as JSON, is one error in the log and one in the metric,
// and leaves the other pages as they were.
func TestAPageThatPanicsAnswers500(t *testing.T) {
	log := &lines{}
	r := startLogged(t, server.Options{}, zerolog.New(log))
	r.Publish(translate.Result{View: func() *ir.View { panic("no view") }})
	code, body := r.page(t, http.MethodGet, "/api/v1/explain?url=http://a.test/&header=authorization:+secret", "")
	if code != http.StatusInternalServerError || !strings.Contains(body, `"error": "internal error; the log of gatefold has the details"`) {
		t.Errorf("got %d %s", code, body)
	}
	if log.with(`"level":"error"`, `"panic":"no view"`, `"page":"/api/v1/explain"`, `rescue_test.go`, "an admin page panicked") != 1 || log.with("secret") != 0 {
		t.Errorf("the log is %s", log.text.String())
	}
	if metrics := r.get(t, "/metrics"); !strings.Contains(metrics, "\ngatefold_admin_panics_total 1\n") {
		t.Error("the panic is not counted")
	}
	r.get(t, "/readyz")
}
