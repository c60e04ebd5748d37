package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/server"
)

// profile asks for a page as a program does, but for the given headers.
func (r *running) profile(t *testing.T, path string, headers http.Header) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.admin.String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = headers
	return answerTo(t, request)
}

func TestProfilesAreForProgramsOfThisHost(t *testing.T) {
	const gzip = "\x1f\x8b"
	r := start(t, server.Options{Profile: true})
	for _, c := range []struct {
		path, header string
		want         int
		begin        string
	}{
		{"/debug/pprof/heap?gc=1", "", 200, gzip},
		{"/debug/pprof/allocs", "", 200, gzip},
		{"/debug/pprof/goroutine", "", 200, gzip},
		{"/debug/pprof/profile?seconds=1", "", 200, gzip},
		{"/debug/pprof/trace?seconds=0.1", "", 200, "go 1."},
		{"/debug/pprof/heap", "Origin", 403, "{"},
		{"/debug/pprof/profile", "Sec-Fetch-Site", 403, "{"},
		{"/debug/pprof/goroutine?debug=2", "", 400, "{"}, // shows arguments
		{"/debug/pprof/cmdline", "", 404, "{"},
		{"/debug/pprof/symbol", "", 404, "{"},
		{"/debug/pprof/", "", 404, "{"},
	} {
		headers := http.Header{}
		if c.header != "" {
			headers.Set(c.header, "http://127.0.0.1")
		}
		code, body := r.profile(t, c.path, headers)
		if code != c.want || !strings.HasPrefix(body, c.begin) {
			t.Errorf("%s with %q: got %d and %d bytes, want %d: %.80q", c.path, c.header, code, len(body), c.want, body)
		}
	}
}

func TestThereAreNoProfilesUnasked(t *testing.T) {
	r := start(t, server.Options{})
	if code, _ := r.profile(t, "/debug/pprof/heap", nil); code != http.StatusNotFound {
		t.Errorf("got %d, want 404", code)
	}
}
