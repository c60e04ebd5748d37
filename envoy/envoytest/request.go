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

// requestTimeout bounds one exchange, connecting included.
const requestTimeout = 30 * time.Second

// Request is one HTTP/1.1 request. It goes out as written: nothing is cleaned,
// escaped or added but Host and Content-Length.
type Request struct {
	// Address is the "ip:port" to connect to.
	Address string
	// From is the IP address to connect from, the system's choice where empty.
	From string
	// Method is GET where empty.
	Method string
	// Host is the Host header, Address where empty.
	Host string
	// Path is the request target with its query, "/" where empty.
	Path    string
	Headers http.Header
	Body    string
	// Preface is written before everything else, even a TLS handshake: a PROXY header.
	Preface string
	// Raw are the bytes of an HTTP/1.1 request, sent instead of Method, Host, Path, Headers and
	// Body. Method must still be set.
	Raw []byte
	// Timeout bounds the exchange; 0 is 30 s.
	Timeout time.Duration
	// TLS is nil for plain HTTP.
	TLS *TLS
	// HTTP2 speaks HTTP/2 from the first byte on, without TLS (prior knowledge).
	HTTP2 bool
}

// TLS configures a Request over TLS. The server's certificate is not verified; Response has it.
type TLS struct {
	// ServerName is sent in the handshake (SNI); "" sends none.
	ServerName string
	// HTTP2 offers only HTTP/2.
	HTTP2 bool
	// MaxVersion is the highest version offered, such as tls.VersionTLS12; 0 means Go's
	// default.
	MaxVersion uint16
	// Certificate is the client's certificate, sent if the server requests one; nil sends none.
	Certificate *tls.Certificate
}

// Response is the answer to a Request.
type Response struct {
	Status  int
	Headers http.Header
	Body    []byte
	// Backend names the echo backend that answered, "" for another server.
	Backend string
	// Certificate is the server's certificate, nil without TLS.
	Certificate *x509.Certificate
	// Closing is true if the server closes the connection after this response.
	Closing bool
}

// Echoed returns the request as the backend received it, or an error if the response is not an
// echo backend's.
func (r *Response) Echoed() (handler.Answer, error) {
	var answer handler.Answer
	if r.Backend == "" {
		return answer, fmt.Errorf("status %d did not come from an echo backend: %s", r.Status, r.Body)
	}
	return answer, json.Unmarshal(r.Body, &answer)
}

// Do sends the request on a connection of its own. The test fails when no
// response comes.
func Do(t testing.TB, request Request) *Response {
	t.Helper()
	response, err := Try(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// Try is Do with an error in place of a failed test, for use in Wait.
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

func (r Request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// encode returns the bytes of the request.
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

// conn is one HTTP/1.1 connection. It is lighter than net/http's client, which
// also cleans paths and hides on which connection a request went.
type conn struct {
	net.Conn
	reader *bufio.Reader
	// used is true if an exchange ended well here before.
	used        bool
	certificate *x509.Certificate // the server's, nil without TLS
	// closing is true if the server takes no further request.
	closing bool
}

// dial connects to the address of a request.
// dialer connects from From.
func (r Request) dialer() *net.Dialer {
	d := &net.Dialer{Timeout: requestTimeout}
	if ip := net.ParseIP(r.From); ip != nil {
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	return d
}

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

// errStale tells that the server closed an idle connection just when the next
// request was on its way: HTTP asks the client to send it again on another one
// (RFC 9112, section 9.3.1), and all clients do.
var errStale = errors.New("the server had closed the idle connection")

// exchange sends an encoded request and reads the whole response.
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

// final reads the answer behind those that announce it, such as 100.
func (c *conn) final(method string) (*http.Response, error) {
	for {
		response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
		if err != nil || response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
}

func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
