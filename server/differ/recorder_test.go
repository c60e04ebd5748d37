package differ

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

// idHeader names each request, so that what a backend received is found again.
const idHeader = "x-differ-id"

// backendHeader is the response header with the name of the backend that answered.
const backendHeader = "x-differ-backend"

// received is a request as a backend received it, byte for byte.
type received struct {
	Backend string
	Method  string
	Target  string
	Host    string
	Headers []header // without Host, names as sent
}

// header is one line of a request.
type header struct{ Name, Value string }

// values are those of one header, in order.
func (r *received) values(name string) []string {
	var all []string
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			all = append(all, h.Value)
		}
	}
	return all
}

// recorder remembers what the backends received, by id.
type recorder struct {
	mu   sync.Mutex
	seen map[string][]*received
}

func (r *recorder) note(one *received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ids := one.values(idHeader); len(ids) > 0 {
		r.seen[ids[0]] = append(r.seen[ids[0]], one)
	}
}

// take returns what the backends received of a request.
func (r *recorder) take(id string) []*received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[id]
}

// statusOf is what a backend answers: "busy" 503, the others 200.
func statusOf(backend string) int {
	if backend == "busy" {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// backend starts a backend that answers as statusOf says and returns its port. net/http would
// reject some of the requests, and tidy the others.
func (r *recorder) backend(t *testing.T, name string) int {
	t.Helper()
	return envoytest.StartBackend(t, func(conn net.Conn) { r.serve(name, conn) })
}

func (r *recorder) serve(name string, conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	if first, _ := reader.Peek(3); string(first) == "PRI" {
		r.serveHTTP2(name, conn, reader)
		return
	}
	for {
		one, err := readRequest(reader)
		if err != nil {
			return
		}
		one.Backend = name
		r.note(one)
		status, length := fmt.Sprint(statusOf(name)), "content-length: 0\r\n"
		upgraded := len(one.values("upgrade")) > 0 && name != "busy"
		if upgraded {
			status, length = "101 Switching Protocols", "connection: Upgrade\r\nupgrade: websocket\r\n"
		}
		fmt.Fprintf(conn, "HTTP/1.1 %s\r\n%s: %s\r\n%s\r\n", status, backendHeader, name, length)
		if upgraded {
			_, _ = io.Copy(io.Discard, reader)
			return
		}
	}
}

// readRequest reads a request and skips its body.
func readRequest(reader *bufio.Reader) (*received, error) {
	line, err := readLine(reader)
	if err != nil {
		return nil, err
	}
	words := strings.SplitN(line, " ", 3)
	if len(words) < 3 {
		return nil, fmt.Errorf("request line %q", line)
	}
	out := &received{Method: words[0], Target: words[1]}
	for {
		line, err := readLine(reader)
		if err != nil {
			return nil, err
		}
		if line == "" && len(out.values("upgrade")) > 0 {
			return out, nil // the body comes once the WebSocket is open
		}
		if line == "" {
			return out, out.skipBody(reader)
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if strings.EqualFold(name, "host") {
			out.Host = value
			continue
		}
		out.Headers = append(out.Headers, header{name, value})
	}
}

func (r *received) skipBody(reader *bufio.Reader) error {
	if len(r.values("transfer-encoding")) > 0 {
		if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(reader)); err != nil {
			return err
		}
		_, err := readLine(reader) // the end of the trailers, of which there are none
		return err
	}
	lengths := r.values("content-length")
	if len(lengths) == 0 {
		return nil
	}
	n, err := strconv.ParseInt(lengths[0], 10, 64)
	if err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, reader, n)
	return err
}

func readLine(reader *bufio.Reader) (string, error) {
	line, err := reader.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}
