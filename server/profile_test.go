package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
	r := start(t, Options{Profile: true})
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
	r := start(t, Options{})
	if code, _ := r.profile(t, "/debug/pprof/heap", nil); code != http.StatusNotFound {
		t.Errorf("got %d, want 404", code)
	}
}

func TestProfilesAreNotForOtherHosts(t *testing.T) {
	page := localTool(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, word{}) }),
		&net.TCPAddr{IP: net.IPv4zero, Port: 19000})
	for _, c := range []struct {
		reached net.Addr
		want    int
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, 200},
		{&net.TCPAddr{IP: net.IPv6loopback}, 200},
		{&net.UnixAddr{Name: "/run/gatefold/admin.sock", Net: "unix"}, 200},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}, 403},
		{nil, 403}, // all interfaces, as far as it knows
	} {
		request := httptest.NewRequestWithContext(withLocalAddr(t.Context(), c.reached), http.MethodGet, "/debug/pprof/heap", nil)
		answered := httptest.NewRecorder()
		page.ServeHTTP(answered, request)
		if answered.Code != c.want {
			t.Errorf("reached at %v: got %d, want %d", c.reached, answered.Code, c.want)
		}
	}
}

// withLocalAddr is what net/http tells a handler of the connection; nil is nothing.
func withLocalAddr(ctx context.Context, address net.Addr) context.Context {
	if address == nil {
		return ctx
	}
	return context.WithValue(ctx, http.LocalAddrContextKey, address)
}
