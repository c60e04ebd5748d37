package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
)

// A page that panics answers 500 as JSON, is one error in the log and one in the metric,
// and leaves the other pages as they were.
func TestAPageThatPanicsAnswers500(t *testing.T) {
	log := &lines{}
	r := startLogged(t, Options{}, zerolog.New(log))
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

// A page that has begun its answer cannot take it back: the connection is closed.
func TestAPageThatPanicsInItsAnswerIsCut(t *testing.T) {
	log := &lines{}
	s := New(Options{}, zerolog.New(log))
	page := s.rescued(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, word{Status: "ok"})
		panic("late")
	}))
	if code := servedBy(t, page); code != 0 {
		t.Errorf("got status %d", code)
	}
	if log.with(`"panic":"late"`) != 1 {
		t.Errorf("the log is %s", log.text.String())
	}
	abort := s.rescued(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	if code := servedBy(t, abort); code != 0 || log.with("http: abort Handler") != 0 {
		t.Errorf("got status %d and the log %s", code, log.text.String())
	}
}

// servedBy returns the status code of a complete answer of a page, 0 without one.
func servedBy(t *testing.T, page http.Handler) int {
	t.Helper()
	server := httptest.NewServer(page)
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err != nil {
		return 0
	}
	return response.StatusCode
}
