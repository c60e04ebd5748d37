package admin

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// While a client reads a dump of everything, another one waits, and then is sent away.
func TestOneDumpAtATime(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	page := oneAtATime(time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		<-release
		answer(w, http.StatusOK, word{})
	})
	ask := func() int {
		response := httptest.NewRecorder()
		page(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return response.Code
	}
	first := make(chan int, 1)
	go func() { first <- ask() }()
	<-begun
	if code := ask(); code != http.StatusServiceUnavailable {
		t.Errorf("beside another one: status %d", code)
	}
	close(release)
	if code := <-first; code != http.StatusOK {
		t.Errorf("the first one: status %d", code)
	}
	go func() { <-begun }()
	if code := ask(); code != http.StatusOK {
		t.Errorf("after it: status %d", code)
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

// A page that has begun its answer cannot take it back: the connection is closed.
func TestAPageThatPanicsInItsAnswerIsCut(t *testing.T) {
	var log bytes.Buffer
	p := pages{Options: Options{Log: zerolog.New(zerolog.SyncWriter(&log)), Panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "panics"})}}
	page := p.rescued(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, word{Status: "ok"})
		panic("late")
	}))
	if code := servedBy(t, page); code != 0 {
		t.Errorf("got status %d", code)
	}
	if strings.Count(log.String(), `"panic":"late"`) != 1 {
		t.Errorf("the log is %s", log.String())
	}
	abort := p.rescued(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	if code := servedBy(t, abort); code != 0 || strings.Contains(log.String(), "http: abort Handler") {
		t.Errorf("got status %d and the log %s", code, log.String())
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

// withLocalAddr is what net/http tells a handler of the connection; nil is nothing.
func withLocalAddr(ctx context.Context, address net.Addr) context.Context {
	if address == nil {
		return ctx
	}
	return context.WithValue(ctx, http.LocalAddrContextKey, address)
}

// With names of --admin-hosts, only these, addresses and localhost are answered, at any address: a web page of another
// name that resolves to this host reads nothing. Without them, any name is answered on an address other than loopback.
func TestOnlyKnownHostsAreAnswered(t *testing.T) {
	pages := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, word{}) })
	everywhere, loopback := &net.TCPAddr{IP: net.IPv4(172, 18, 0, 2)}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	for _, c := range []struct {
		reached *net.TCPAddr
		hosts   []string
		host    string
		want    int
	}{
		{everywhere, []string{"gateway.lan"}, "127.0.0.1:19000", 200},
		{everywhere, []string{"gateway.lan"}, "[::1]:19000", 200},
		{everywhere, []string{"gateway.lan"}, "LOCALHOST:19000", 200},
		{everywhere, []string{"gateway.lan"}, "Gateway.lan:19000", 200},
		{everywhere, []string{"Gateway.LAN"}, "gateway.lan:19000", 200},
		{everywhere, []string{"gateway.lan"}, "attacker.example:19000", 403},
		{everywhere, nil, "attacker.example:19000", 200},
		{loopback, []string{"gateway.lan"}, "gateway.lan", 200},
		{loopback, nil, "gateway.lan", 403},
	} {
		request := httptest.NewRequestWithContext(withLocalAddr(t.Context(), c.reached), http.MethodGet, "/", nil)
		request.Host = c.host
		response := httptest.NewRecorder()
		guard(pages, c.reached, c.hosts).ServeHTTP(response, request)
		if response.Code != c.want {
			t.Errorf("%s at %s with %q: status %d, want %d", c.host, c.reached, c.hosts, response.Code, c.want)
		}
	}
}
