package envoytest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/gatefold/gatefold/examples/echo/handler"
)

// EchoServer is a back end that answers each request with a handler.Answer, over
// HTTP/1.1 or HTTP/2 as it comes.
type EchoServer struct {
	server   *httptest.Server
	requests atomic.Int64
}

// Echo starts a back end on "ip:port", or on a free port of 127.0.0.1 where
// address is "". It closes with the test.
func Echo(t testing.TB, name, address string) *EchoServer {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	e := &EchoServer{}
	echo := handler.Echo(name)
	count := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.requests.Add(1)
		echo.ServeHTTP(w, r)
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	e.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: count, Protocols: protocols}}
	e.server.Start()
	t.Cleanup(e.Close)
	return e
}

// Address returns the "ip:port" of the back end.
func (e *EchoServer) Address() string { return e.server.Listener.Addr().String() }

// Port returns the port of Address.
func (e *EchoServer) Port() int { return e.server.Listener.Addr().(*net.TCPAddr).Port }

// Requests returns how many requests have come in so far.
func (e *EchoServer) Requests() int64 { return e.requests.Load() }

// Close stops listening, waits for running requests and closes all connections.
// A second call does nothing.
func (e *EchoServer) Close() { e.server.Close() }
