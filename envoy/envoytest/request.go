package envoytest

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/examples/echo/handler"
)

// requestTimeout limits the time of each step: to connect, to complete the TLS handshake, and to send a request and
// receive the response.
const requestTimeout = 30 * time.Second

// Request is one HTTP request. With HTTP/1.1, it is sent unchanged: without normalization and escaping. Only the
// headers Host and Content-Length are added. With HTTP/2, net/http sends it and may add other headers. Host and Path
// must then be set, and Preface, Raw and Timeout have no effect.
type Request struct {
	// Address is the "ip:port" to connect to.
	Address string
	// From is the local IP address to connect from. If it is "", the system chooses it.
	From string
	// Method is the method; "" means GET.
	Method string
	// Host is the Host header; "" means Address.
	Host string
	// Path is the request target with its query; "" means "/".
	Path    string
	Headers http.Header
	Body    string
	// Preface is sent before everything else, even before the TLS handshake. It is for a PROXY protocol header.
	Preface string
	// Raw is a whole HTTP/1.1 request as bytes. It is sent instead of Host, Path, Headers and Body. Method must
	// still be set, because the response depends on it.
	Raw []byte
	// Timeout limits the time for the request and its response; 0 means 30 s.
	Timeout time.Duration
	// TLS configures TLS. It is nil for plain HTTP.
	TLS *TLS
	// HTTP2 is true for HTTP/2 without TLS from the first byte on (prior knowledge).
	HTTP2 bool
}

// TLS configures TLS for a Request. The certificate of the server is not verified; Response.Certificate has it.
type TLS struct {
	// ServerName is the server name in the handshake (SNI). If it is "", no name is sent.
	ServerName string
	// HTTP2 is true to offer only HTTP/2 by ALPN. Otherwise only HTTP/1.1 is offered.
	HTTP2 bool
	// MaxVersion is the highest TLS version to offer, such as tls.VersionTLS12; 0 means Go's default.
	MaxVersion uint16
	// Certificate is the certificate of the client. It is sent if the server requests one; nil sends none.
	Certificate *tls.Certificate
}

// Response is the response to a Request.
type Response struct {
	Status  int
	Headers http.Header
	Body    []byte
	// Backend is the name of the echo backend that answered, or "" if another server answered.
	Backend string
	// Certificate is the certificate of the server, or nil without TLS.
	Certificate *x509.Certificate
	// Closing is true if the server closes the HTTP/1.1 connection after this response, or switches its protocol
	// (status 101).
	Closing bool
}

// Echoed returns the request as the echo backend received it. It returns an error if no echo backend answered, or
// if the body is not the JSON of a handler.Answer.
func (r *Response) Echoed() (handler.Answer, error) {
	var answer handler.Answer
	if r.Backend == "" {
		return answer, fmt.Errorf("status %d did not come from an echo backend: %s", r.Status, r.Body)
	}
	return answer, json.Unmarshal(r.Body, &answer)
}

// Do sends the request on a new connection and returns the response. The test fails if there is no response.
func Do(t testing.TB, request Request) *Response {
	t.Helper()
	response, err := Try(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// Try sends the request on a new connection, like Do, but returns an error instead of failing the test. It is
// for use in Wait.
func Try(request Request) (*Response, error) {
	if request.HTTP2 || request.TLS != nil && request.TLS.HTTP2 {
		return request.overHTTP2()
	}
	c, err := dial(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	return c.exchange(request, request.encode())
}

// method returns the method of the request, GET if it is unset.
func (r Request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// encode returns the HTTP/1.1 request as bytes. If Raw is set, it returns Raw.
func (r Request) encode() []byte {
	if r.Raw != nil {
		return r.Raw
	}
	host, path := r.Host, r.Path
	if host == "" {
		host = r.Address
	}
	if path == "" {
		path = "/"
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method(), path, host)
	for name, values := range r.Headers {
		for _, value := range values {
			fmt.Fprintf(&out, "%s: %s\r\n", name, value)
		}
	}
	if r.Body != "" {
		fmt.Fprintf(&out, "Content-Length: %d\r\n", len(r.Body))
	}
	out.WriteString("\r\n" + r.Body)
	return out.Bytes()
}

// conn is one HTTP/1.1 connection. It is used instead of net/http's client because it is faster, and because it
// sends every path and header exactly as the Request has them.
type conn struct {
	net.Conn
	reader *bufio.Reader
	// used is true if the connection has already returned a whole response.
	used        bool
	certificate *x509.Certificate // the server's, nil without TLS
	// closing is true if the server accepts no further request on this connection.
	closing bool
}

// dialer returns a dialer that connects from r.From. If that is no IP address, the system chooses the local
// address.
func (r Request) dialer() *net.Dialer {
	d := &net.Dialer{Timeout: requestTimeout}
	if ip := net.ParseIP(r.From); ip != nil {
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	return d
}

// dial connects to the address of a request. It sends the preface, and completes the TLS handshake if the
// request uses TLS. It returns an error if one of these steps fails.
func dial(request Request) (*conn, error) {
	c, err := request.dialer().Dial("tcp", request.Address)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, request.Preface); err != nil {
		_ = c.Close()
		return nil, err
	}
	if request.TLS != nil {
		return request.TLS.client(c)
	}
	return &conn{Conn: c, reader: bufio.NewReader(c)}, nil
}

// errStale means that the server closed an idle connection while the next request was on its way. HTTP clients
// must then send the request again on another connection (RFC 9112, section 9.3.1).
var errStale = errors.New("the server had closed the idle connection")

// exchange sends an encoded request and returns the whole response. It returns errStale if the server has
// closed the idle connection. Other errors mean that there is no response.
func (c *conn) exchange(request Request, encoded []byte) (*Response, error) {
	if err := c.SetDeadline(time.Now().Add(cmp.Or(request.Timeout, requestTimeout))); err != nil {
		return nil, err
	}
	_, err := c.Write(encoded)
	if err == nil {
		_, err = c.reader.Peek(1)
	}
	if c.used && closed(err) {
		return nil, errStale
	}
	if err != nil {
		return nil, err
	}
	return c.read(request.method())
}

// read reads the whole response to a request with this method. It returns an error if the response is invalid
// or cut off.
func (c *conn) read(method string) (*Response, error) {
	response, err := c.final(method)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("status %d, then in the body: %w", response.StatusCode, err)
	}
	c.used, c.closing = true, response.Close || response.StatusCode == http.StatusSwitchingProtocols
	return &Response{
		Status:  response.StatusCode,
		Headers: response.Header,
		Body:    body,
		Backend: response.Header.Get(handler.BackendHeader),

		Certificate: c.certificate,
		Closing:     c.closing,
	}, nil
}

// final returns the final response. It skips informational responses such as 100, but not 101 (Switching
// Protocols). It returns an error if the response is invalid or cut off.
func (c *conn) final(method string) (*http.Response, error) {
	for {
		response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
		if err != nil || response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
}

// closed reports whether err means that the server has closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
