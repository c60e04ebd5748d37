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

// EchoServer is a backend that answers each request with a handler.Answer. It accepts HTTP/1.1 and HTTP/2, with
// or without TLS.
type EchoServer struct {
	server   *httptest.Server
	requests atomic.Int64
	host     atomic.Value
}

// Echo starts a backend on "ip:port", or on a free port of 127.0.0.1 if address is "". The backend stops when
// the test ends.
func Echo(t testing.TB, name, address string) *EchoServer {
	t.Helper()
	return echo(t, name, address, nil)
}

// These response headers of a backend of EchoTLS describe the TLS handshake and the client.
const (
	ServerNameHeader = "X-Echo-Server-Name" // the server name in the handshake (SNI)
	ProtocolHeader   = "X-Echo-Protocol"    // the protocol inside of TLS, such as HTTP/1.1
	ClientHeader     = "X-Echo-Client"      // the first DNS name of the client's certificate
)

// EchoTLS starts a backend like Echo, but with TLS. It speaks HTTP/2 with clients that offer it.
func EchoTLS(t testing.TB, name, address string, config *tls.Config) *EchoServer {
	t.Helper()
	return echo(t, name, address, config)
}

// echo starts a backend for Echo and EchoTLS. If config is nil, the backend uses no TLS.
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
		e.host.Store(r.Host)
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

// tellHandshake sets the headers that describe the TLS handshake of r. It sets none for a request without TLS.
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

// Requests returns how many requests the backend has received.
func (e *EchoServer) Requests() int64 { return e.requests.Load() }

// Host returns the Host of the last request.
func (e *EchoServer) Host() string { host, _ := e.host.Load().(string); return host }

// Close stops the listener, waits for open requests and closes all connections. A second call does nothing.
func (e *EchoServer) Close() { e.server.Close() }
