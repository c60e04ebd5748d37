package envoytest

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/gatefold/gatefold/examples/echo/handler"
)

// EchoServer is a backend that answers each request with a handler.Answer, over
// HTTP/1.1 or HTTP/2 as it comes.
type EchoServer struct {
	server   *httptest.Server
	requests atomic.Int64
}

// Echo starts a backend on "ip:port", or on a free port of 127.0.0.1 where
// address is "". It closes with the test.
func Echo(t testing.TB, name, address string) *EchoServer {
	t.Helper()
	return echo(t, name, address, nil)
}

// The headers in which a backend of EchoTLS reports the handshake.
const (
	ServerNameHeader = "X-Echo-Server-Name" // the name that it asked for (SNI)
	ProtocolHeader   = "X-Echo-Protocol"    // what is spoken inside, such as HTTP/1.1
	ClientHeader     = "X-Echo-Client"      // the first name of the client's certificate
)

// EchoTLS is Echo for a backend that speaks TLS, and HTTP/2 to clients that offer it.
func EchoTLS(t testing.TB, name, address string, config *tls.Config) *EchoServer {
	t.Helper()
	return echo(t, name, address, config)
}

func echo(t testing.TB, name, address string, config *tls.Config) *EchoServer {
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
		tellHandshake(w.Header(), r)
		echo.ServeHTTP(w, r)
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	e.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: count, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0)}}
	if config == nil {
		e.server.Start()
	} else {
		e.server.TLS, e.server.EnableHTTP2 = config, true
		e.server.StartTLS()
	}
	t.Cleanup(e.Close)
	return e
}

func tellHandshake(headers http.Header, r *http.Request) {
	if r.TLS == nil {
		return
	}
	headers.Set(ServerNameHeader, r.TLS.ServerName)
	headers.Set(ProtocolHeader, r.Proto)
	if len(r.TLS.PeerCertificates) > 0 {
		headers.Set(ClientHeader, r.TLS.PeerCertificates[0].DNSNames[0])
	}
}

// Address returns the "ip:port" of the backend.
func (e *EchoServer) Address() string { return e.server.Listener.Addr().String() }

// Port returns the port of Address.
func (e *EchoServer) Port() int { return e.server.Listener.Addr().(*net.TCPAddr).Port }

// Requests returns how many requests have come in so far.
func (e *EchoServer) Requests() int64 { return e.requests.Load() }

// Close stops listening, waits for running requests and closes all connections.
// A second call does nothing.
func (e *EchoServer) Close() { e.server.Close() }
