package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/admin"
)

func TestReloadIsForCommandsOnly(t *testing.T) {
	var calls []bool
	var r *running
	r = start(t, server.Options{Folder: askedFolder{reload: func(_ context.Context, allowEmpty bool) (c admin.Changes, err error) {
		calls = append(calls, allowEmpty)
		r.Reloaded(server.Reload{Result: "frozen", Hold: map[bool]string{false: "emptied"}[allowEmpty]})
		return c, nil
	}}})
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
		request, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+r.admin.String()+test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.header != "" {
			request.Header.Set(test.header, "http://evil.example")
		}
		code, _ := answerTo(t, request)
		if code != test.code || len(calls) != test.calls {
			t.Errorf("%s %s %s: %d, %d calls; want %d, %d", test.method, test.url, test.header,
				code, len(calls), test.code, test.calls)
		}
	}
}

// Before the first load the pages say what is missing, and a reload that it is still so.
func TestBeforeTheFirstLoadPagesSayWhatIsMissing(t *testing.T) {
	r := start(t, server.Options{})
	const why = "nothing has been loaded yet: the folder web is not there; Envoys that wait for it: 2"
	r.Reloaded(server.Reload{Result: "waiting", Awaits: "the folder web is not there"})
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
	r.Reloaded(server.Reload{Result: "ok", OK: true})
	page = admin.ProblemList{}
	r.read(t, "/api/v1/problems", &page)
	if page.Unloaded != "" {
		t.Errorf("after the first load: %+v", page)
	}
}

// A reload that a mistake of ours kept from being applied is not said to be one.
func TestAFailedReloadIsSaidToHaveFailed(t *testing.T) {
	var r *running
	r = start(t, server.Options{Folder: askedFolder{reload: func(context.Context, bool) (c admin.Changes, err error) {
		r.Reloaded(server.Reload{Result: "failed"})
		return c, nil
	}}})
	code, body := r.page(t, "POST", admin.ReloadPath, "")
	if code != http.StatusInternalServerError || !strings.Contains(body, "a mistake in gatefold") {
		t.Errorf("%d %s", code, body)
	}
}
