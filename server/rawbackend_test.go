package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// rawBackend is an HTTP/1.1 server that takes a message by its framing alone, as RFC 9112,
// section 6, says, and keeps each as it came. A second request in the body of one is
// a request to it.
type rawBackend struct {
	t    testing.TB
	at   int // its port
	mu   sync.Mutex
	seen []rawRequest
}

// rawRequest is what came: the head with its line ends, and the body.
type rawRequest struct {
	head, body string
	fault      string // why the server gave up
}

// evilBody is an answer in an answer: who reads it as one has been poisoned.
const evilBody = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nx-poison: 1\r\n\r\nEVIL"

// calmBody, with the query behind it, answers requests for /calm.
const calmBody = "calm"

func startRawBackend(t testing.TB) *rawBackend {
	t.Helper()
	b := &rawBackend{t: t}
	b.at = envoytest.StartBackend(t, b.serve)
	return b
}

func (b *rawBackend) port() int { return b.at }

// take returns what came since the last call.
func (b *rawBackend) take() []rawRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := b.seen
	b.seen = nil
	return seen
}

func (b *rawBackend) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for r := bufio.NewReader(conn); ; {
		request, err := readRaw(r)
		if err != nil && request.head == "" {
			return
		}
		b.mu.Lock()
		b.seen = append(b.seen, request)
		b.mu.Unlock()
		if err != nil {
			return
		}
		body := evilBody
		if _, rest, calm := strings.Cut(request.head, " /calm"); calm {
			query, _, _ := strings.Cut(rest, " ")
			body = calmBody + query
		}
		if strings.HasPrefix(request.head, "HEAD ") {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n", len(body))
			continue
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
	}
}

// readRaw reads one request; an error with a head is a broken request.
func readRaw(r *bufio.Reader) (rawRequest, error) {
	var request rawRequest
	length, chunked := 0, false
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return request, err
		}
		request.head += line
		if line == "\r\n" {
			break
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch strings.ToLower(strings.ReplaceAll(name, "_", "-")) {
		case "content-length":
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		case "transfer-encoding":
			chunked = true
		}
	}
	if !chunked {
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		request.body = string(body)
		if err != nil {
			request.fault = "the body ended early"
		}
		return request, err
	}
	return readChunks(r, request)
}

func readChunks(r *bufio.Reader, request rawRequest) (rawRequest, error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return request, err
		}
		size, err := strconv.ParseUint(strings.TrimSuffix(line, "\r\n"), 16, 31)
		if err != nil {
			request.fault = "chunk size " + strconv.Quote(line)
			return request, err
		}
		chunk := make([]byte, size+2)
		if _, err := io.ReadFull(r, chunk); err != nil {
			return request, err
		}
		request.body += string(chunk[:size])
		if size == 0 {
			return request, nil
		}
	}
}

// rawClient sends bytes to an Envoy on one connection, and reads answers as a browser does.
type rawClient struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
}

func dialRaw(t testing.TB, address string) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &rawClient{t: t, conn: conn, r: bufio.NewReader(conn)}
}

// send writes a request and returns the status and body of the next answer; 0 where the
// connection ends.
func (c *rawClient) send(text string) (int, string) {
	if _, err := io.WriteString(c.conn, text); err != nil {
		return 0, ""
	}
	method, _, _ := strings.Cut(text, " ")
	response, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(body)
}
