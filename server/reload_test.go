package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/admin"
)

func TestReloadIsForCommandsOnly(t *testing.T) {
	var calls []bool
	var s *Server
	s = New(Options{Folder: askedFolder{reload: func(_ context.Context, allowEmpty bool) (c admin.Changes, err error) {
		calls = append(calls, allowEmpty)
		s.Reloaded(Reload{Result: "frozen", Hold: map[bool]string{false: "emptied"}[allowEmpty]})
		return c, nil
	}}}, zerolog.Nop())
	pages := s.adminPages(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
	for _, test := range []struct {
		method, url, header string
		code, calls         int
	}{
		{"GET", admin.ReloadPath, "", http.StatusMethodNotAllowed, 0},
		{"POST", admin.ReloadPath, "Origin", http.StatusForbidden, 0},
		{"POST", admin.ReloadPath, "Sec-Fetch-Site", http.StatusForbidden, 0},
		{"POST", admin.ReloadPath + "/x", "", http.StatusMethodNotAllowed, 0},
		{"POST", admin.ReloadPath, "", http.StatusConflict, 1},
		{"POST", admin.ReloadPath + "?allow-empty=true", "", http.StatusOK, 1},
		{"POST", admin.ReloadPath + "?allow_empty=true", "", http.StatusBadRequest, 0},
	} {
		calls = nil
		request := httptest.NewRequest(test.method, "http://127.0.0.1:1"+test.url, nil)
		if test.header != "" {
			request.Header.Set(test.header, "http://evil.example")
		}
		response := httptest.NewRecorder()
		pages.ServeHTTP(response, request)
		if response.Code != test.code || len(calls) != test.calls {
			t.Errorf("%s %s %s: %d, %d calls; want %d, %d", test.method, test.url, test.header,
				response.Code, len(calls), test.code, test.calls)
		}
	}
}

// Before the first load the pages say what is missing, and a reload that it is still so.
func TestBeforeTheFirstLoadPagesSayWhatIsMissing(t *testing.T) {
	r := start(t, Options{})
	const why = "nothing has been loaded yet: the folder web is not there; Envoys that wait for it: 2"
	r.Reloaded(Reload{Result: "waiting", Awaits: "the folder web is not there"})
	r.open("shop/a")
	r.open("shop/b")
	r.waits(2)
	var page admin.ProblemList
	r.read(t, "/api/v1/problems", &page)
	if page.Unloaded != why {
		t.Errorf("before the first load: %+v", page)
	}
	if code, got := r.page(t, http.MethodGet, "/readyz", ""); code != http.StatusServiceUnavailable || !strings.Contains(got, why) {
		t.Errorf("/readyz: %d: %s", code, got)
	}
	r.publish("Cluster web@1")
	r.Reloaded(Reload{Result: "ok", OK: true})
	page = admin.ProblemList{}
	r.read(t, "/api/v1/problems", &page)
	if page.Unloaded != "" {
		t.Errorf("after the first load: %+v", page)
	}
}

// A reload that a mistake of ours kept from being applied is not said to be one.
func TestAFailedReloadIsSaidToHaveFailed(t *testing.T) {
	var s *Server
	s = New(Options{Folder: askedFolder{reload: func(context.Context, bool) (c admin.Changes, err error) {
		s.Reloaded(Reload{Result: "failed"})
		return c, nil
	}}}, zerolog.Nop())
	response := httptest.NewRecorder()
	s.adminPages(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}).ServeHTTP(response, httptest.NewRequest("POST", "http://127.0.0.1:1"+admin.ReloadPath, nil))
	if response.Code != http.StatusInternalServerError || !strings.Contains(response.Body.String(), "a mistake in gatefold") {
		t.Errorf("%d %s", response.Code, response.Body)
	}
}
