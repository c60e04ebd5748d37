// Package probe sends the requests in the folder's tests to a running Envoy, and returns what a client gets as
// the response.
package probe

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/gatefold/gatefold/translate/expect"
)

// maxBody bounds how many bytes of a response's body are read.
const maxBody = 1 << 20

// maxRead bounds how many bytes of an HTTP/1.1 connection are read, including headers.
const maxRead = 2 * maxBody

// openTime is how long a TCP or TLS connection must stay open until the test counts it as accepted by a backend.
const openTime = time.Second

// echoHeader is the response header with the name of an echo backend: a test server that answers with the
// request that it received.
const echoHeader = "X-Echo-Backend"

// Client sends the requests of test lines exactly as they are written: it does not clean paths or follow
// redirects. It does not verify the certificates of servers.
type Client struct {
	// Address returns the "host:port" to which a request is sent. The error says why there is none.
	Address func(expect.Request) (string, error)
	// Timeout bounds each exchange.
	Timeout time.Duration
}

// Send sends one request on a new connection, and returns what a client sees, which may be an error of the network.
// If the request cannot be sent for another reason, Seen.Unsent has the reason.
func (c Client) Send(ctx context.Context, r expect.Request) expect.Seen {
	if reason := unsendable(r); reason != "" {
		return expect.Seen{Unsent: reason}
	}
	address, err := c.Address(r)
	if err != nil {
		return expect.Seen{Unsent: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, err := dial(ctx, r, address)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // if this fails, the exchange below fails, too
	}
	switch {
	case r.Connection():
		return open(conn)
	case r.HTTP2:
		return overHTTP2(ctx, r, conn)
	}
	return overHTTP1(r, conn)
}

// unsendable returns why a request cannot be sent; "" if it can.
func unsendable(r expect.Request) string {
	switch {
	case r.URL.Scheme == "udp":
		return "what a backend makes of a datagram is not known"
	case r.Client != "":
		return "there is no certificate for CLIENT:" + r.Client
	}
	return ""
}

// errFrom is the error if the source address of a request (FROM) is not an address of this machine.
var errFrom = errors.New("the address of FROM is not of this machine")

// dial connects to the address in the way that the request r describes: from the request's source address, with its
// PROXY header, and with its TLS handshake. If the source address is not on this machine, dial returns errFrom.
// Other errors are those of the network or of the TLS handshake.
func dial(ctx context.Context, r expect.Request, address string) (net.Conn, error) {
	dialer := &net.Dialer{}
	if from, err := netip.ParseAddr(r.From); err == nil {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, errFrom
	case err != nil:
		return nil, err
	}
	if r.Proxy != "" {
		if _, err := io.WriteString(conn, proxyHeader(r)); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	if r.URL.Scheme != "https" && r.URL.Scheme != "tls" {
		return conn, nil
	}
	secure := tls.Client(conn, tlsConfig(r))
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// proxyHeader returns the PROXY protocol header of a request.
func proxyHeader(r expect.Request) string {
	family, to := "TCP4", "127.0.0.1"
	if strings.Contains(r.Proxy, ":") {
		family, to = "TCP6", "::1"
	}
	return fmt.Sprintf("PROXY %s %s %s 4000 %d\r\n", family, r.Proxy, to, r.Port())
}

// tlsConfig returns the TLS settings of a request. The server's certificate is not verified, because Envoys are
// tested before DNS names point to them.
func tlsConfig(r expect.Request) *tls.Config {
	config := &tls.Config{ServerName: r.SNI, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	if r.TLS12 {
		config.MaxVersion = tls.VersionTLS12
	}
	if r.URL.Scheme == "https" {
		config.NextProtos = []string{"http/1.1"}
	}
	if r.HTTP2 {
		config.NextProtos = []string{"h2"}
	}
	return config
}

// failed converts the error that ended an exchange to what a client sees: a timeout, a closed connection, or a
// request that was not sent.
func failed(err error) expect.Seen {
	var timeout net.Error
	switch {
	case errors.Is(err, errFrom):
		return expect.Seen{Unsent: err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return expect.Seen{Late: true}
	case errors.Is(err, syscall.ECONNREFUSED):
		return expect.Seen{Closed: "connection refused"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return expect.Seen{Closed: "the connection ended without an answer"}
	}
	return expect.Seen{Closed: err.Error()}
}

// open tests whether a backend accepts the connection. If the connection is still open after openTime, or the
// server sends data before, the Seen reports it as open. Otherwise the Seen has the reason why it was closed.
func open(conn net.Conn) expect.Seen {
	if err := conn.SetReadDeadline(time.Now().Add(openTime)); err != nil {
		return failed(err)
	}
	_, err := conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return expect.Seen{Certificate: certificate(conn)}
	}
	return failed(err)
}

// certificate returns the first DNS name of the server's certificate; "" without TLS, or if there is none.
func certificate(conn net.Conn) string {
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return ""
	}
	shown := secure.ConnectionState().PeerCertificates
	if len(shown) == 0 || len(shown[0].DNSNames) == 0 {
		return ""
	}
	return shown[0].DNSNames[0]
}

// overHTTP1 sends a request over HTTP/1.1 exactly as it is written, and returns the response. Interim responses
// (1xx) are skipped, except 101.
func overHTTP1(r expect.Request, conn net.Conn) expect.Seen {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\n", r.Method, r.Target)
	fmt.Fprintf(&out, "Host: %s\r\n", r.Authority)
	for name, values := range r.Header() {
		for _, value := range values {
			fmt.Fprintf(&out, "%s: %s\r\n", name, value)
		}
	}
	if r.BodySize > 0 {
		fmt.Fprintf(&out, "Content-Length: %d\r\n", r.BodySize)
	}
	out.WriteString("\r\n" + strings.Repeat("x", r.BodySize))
	_, writeErr := conn.Write(out.Bytes()) // an error is reported below: Envoy may answer before it has read all
	reader := bufio.NewReader(io.LimitReader(conn, maxRead))
	for {
		response, err := http.ReadResponse(reader, &http.Request{Method: r.Method})
		if err != nil {
			return failed(errors.Join(err, writeErr))
		}
		if response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			return seen(response, conn)
		}
	}
}

// overHTTP2 sends a request over HTTP/2 on conn, and returns the response.
func overHTTP2(ctx context.Context, r expect.Request, conn net.Conn) expect.Seen {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetUnencryptedHTTP2(true)
	own := func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	transport.DialContext, transport.DialTLSContext = own, own
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.Scheme+"://"+r.URL.Host, strings.NewReader(strings.Repeat("x", r.BodySize)))
	if err != nil {
		return expect.Seen{Unsent: err.Error()}
	}
	request.URL.Opaque, request.Host, request.Header = r.Target, r.Authority, r.Header()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return failed(err)
	}
	return seen(response, conn)
}

// seen converts a response to what a client sees. If the backend is an echo backend (a test server, see
// echoHeader), Seen.Echo has the request that the backend received. At most maxBody bytes of the body are read.
func seen(response *http.Response, conn net.Conn) expect.Seen {
	defer response.Body.Close()
	out := expect.Seen{Status: response.StatusCode, Headers: response.Header, Certificate: certificate(conn)}
	if response.StatusCode == http.StatusSwitchingProtocols || response.Header.Get(echoHeader) == "" {
		return out
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	echo := new(expect.Echo)
	if err == nil && json.Unmarshal(body, echo) == nil && echo.Backend == response.Header.Get(echoHeader) {
		out.Echo = echo
	}
	return out
}
