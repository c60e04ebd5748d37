package cases

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/translate/explain"
)

// Request is one line of requests:
//
//	METHOD URL [NAME:VALUE]... -> OUTCOME [| DETAIL]...
//	URL [GATEWAY:NS/NAME] -> OUTCOME [| certificate n]
//
// The second is a connection, or a datagram: tcp://HOST:PORT, udp://HOST:PORT, or
// tls://NAME:PORT with the name that the client asks for in the handshake. Its backends
// are those of HTTP; one that gets datagrams has a port of
// protocol UDP. "closed" is a share that is closed, or dropped.
//
// BODY:N in place of a header sends a body of N bytes, BIG:N a header X-Big of N, and
// PROXY:IP a PROXY header from that address first. FROM:IP connects from that address of the
// loopback network, in place of 127.0.0.1. GATEWAY:NS/NAME goes to the address
// of that Gateway, where each has its own. For https, SNI:NAME asks in
// the handshake for NAME in place of the host, SNI:- for none, TLS:1.2 offers no later
// version, and CLIENT:NAME@AUTHORITY has a certificate. HTTP2:on speaks HTTP/2, without
// TLS from the first byte on. GRPC:on is that with a content-type of gRPC.
//
// OUTCOME is a status (404), a status with a Location (302 http://…), the name
// of a backend, several with their weights (a=90 b=10; 500=10 is a share that
// has no backend), or "closed" where nothing listens, or takes the handshake. A DETAIL is one of
//
//	status N           what the client gets when the backend does not answer 200
//	mirror b=N         a backend that gets a copy of N in 100 requests, of all without =N
//	protocol P         what the backend gets it by: HTTP/1.1 or HTTP/2.0
//	path /x?y          what the backend gets as path and query
//	host h             what it gets as host
//	request N: V       a request header that it gets; "-" in place of V for none
//	response N: V      a header of the answer; "-" for none
//	grpc N             the grpc-status of the answer, which is of status 200
//	certificate n      the first name in the certificate that the client is shown
//	only Envoy         what depends on what came before: explain is not asked
//
// explain knows where a request goes and as what; status, protocol, response and
// certificate are seen on Envoy alone, as the answer and the connections are not in the
// View.
type Request struct {
	Line    string
	Method  string
	URL     *url.URL
	Target  string // path and query as written
	Headers http.Header
	// BodySize is the length of the request's body.
	BodySize int
	// OnlyEnvoy is true if explain cannot predict the answer.
	OnlyEnvoy bool
	// Gateway is the Gateway that the request is sent to, "" for the only one on the port.
	Gateway string
	// Proxy is the address in a PROXY header, "" for no header.
	Proxy string
	// From is the address that the request comes from.
	From string
	// SNI is the server name in the handshake, "" for none.
	SNI string
	// HTTP2 sends HTTP/2. TLS12 offers no later version than TLS 1.2.
	HTTP2, TLS12 bool
	// Client is the name in the client's certificate, "" for none; ClientOf is the authority
	// that signed it.
	Client, ClientOf string
	// Certificate is the first name in the certificate that Envoy shows.
	Certificate string
	// Status is Envoy's own answer, 0 for a backend's answer.
	Status int
	// GRPCStatus is the grpc-status of an answer without a backend, "" for none.
	GRPCStatus string
	// Closed is true if nothing listens on the port.
	Closed   bool
	Location string
	// Backends are the weights of the backends by name.
	Backends map[string]int
	// Failure is the status of a backend's answer if it is not 200.
	Failure int
	// Mirrors are the backends that get copies, with the number of copies in 100 requests.
	Mirrors map[string]int
	// Protocol is the protocol to the backend, "" for any.
	Protocol string
	Path     string
	Host     string
	// ToBackend and Answer are headers; "-" means absent.
	ToBackend, Answer map[string]string
}

func parseRequest(line string) (Request, error) {
	r := Request{
		Line: line, Headers: http.Header{}, Backends: map[string]int{},
		Mirrors: map[string]int{}, ToBackend: map[string]string{}, Answer: map[string]string{},
	}
	question, answer, ok := strings.Cut(line, " -> ")
	words := fields(question)
	if len(words) > 0 && strings.Contains(words[0], "://") {
		words = slices.Insert(words, 0, "")
	}
	if !ok || len(words) < 2 {
		return r, fmt.Errorf("want METHOD URL [NAME:VALUE]... -> OUTCOME, got %q", line)
	}
	if err := r.parseURL(words[0], words[1]); err != nil {
		return r, err
	}
	for _, word := range words[2:] {
		name, value, ok := strings.Cut(word, ":")
		if !ok {
			return r, fmt.Errorf("want NAME:VALUE, got %q", word)
		}
		if err := r.parseWord(name, value); err != nil {
			return r, fmt.Errorf("%q: %w", word, err)
		}
	}
	parts := strings.Split(answer, " | ")
	if err := r.parseOutcome(strings.Fields(parts[0])); err != nil {
		return r, err
	}
	for _, detail := range parts[1:] {
		if err := r.parseDetail(detail); err != nil {
			return r, err
		}
	}
	return r, nil
}

// fields splits a text at its spaces, but for those between quotation marks.
func fields(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return c == ' ' && !quoted
	})
}

// parseWord takes one NAME:VALUE. A value with spaces is between quotation marks.
func (r *Request) parseWord(name, value string) (err error) {
	switch name {
	case "BODY":
		r.BodySize, err = strconv.Atoi(value)
	case "BIG":
		var size int
		size, err = strconv.Atoi(value)
		r.Headers.Set("X-Big", strings.Repeat("x", size))
	case "GATEWAY":
		r.Gateway = value
	case "PROXY":
		r.Proxy = value
	case "FROM":
		r.From = value
	case "SNI":
		r.SNI = strings.TrimPrefix(value, "-")
	case "CLIENT":
		r.Client, r.ClientOf, _ = strings.Cut(value, "@")
	case "HTTP2":
		r.HTTP2 = true
	case "GRPC":
		r.HTTP2 = true
		r.Headers.Set("Content-Type", "application/grpc")
	case "TLS":
		r.TLS12 = value == "1.2"
	default:
		if strings.Contains(value, " ") {
			value = strings.Trim(value, `"`)
		}
		r.Headers.Add(name, value)
	}
	return err
}

// parseURL keeps the path as written: "//" and ".." are part of the question.
func (r *Request) parseURL(method, text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	if u.Port() == "" {
		return fmt.Errorf("the URL needs a port: %s", text)
	}
	_, rest, _ := strings.Cut(text, "://")
	r.Method, r.URL, r.Target, r.SNI = method, u, "/", u.Hostname()
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		r.Target = rest[i:]
	}
	return nil
}

func (r *Request) parseOutcome(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("no outcome")
	}
	if words[0] == "closed" {
		r.Closed = true
		return nil
	}
	if status, err := strconv.Atoi(words[0]); err == nil {
		r.Status = status
		if len(words) > 1 {
			r.Location = words[1]
		}
		return nil
	}
	for _, word := range words {
		name, weight, ok := strings.Cut(word, "=")
		if !ok {
			weight = "1"
		}
		n, err := strconv.Atoi(weight)
		if err != nil {
			return fmt.Errorf("weight %q: %w", word, err)
		}
		r.Backends[name] = n
	}
	return nil
}

func (r *Request) parseDetail(detail string) error {
	kind, rest, _ := strings.Cut(strings.TrimSpace(detail), " ")
	name, value, isHeader := strings.Cut(rest+" ", ": ") // an empty value, too
	value = strings.TrimSpace(value)
	switch {
	case kind == "status":
		status, err := strconv.Atoi(rest)
		r.Failure = status
		return err
	case kind == "grpc":
		r.Answer["Grpc-Status"], r.GRPCStatus = rest, rest
	case kind == "mirror":
		return r.parseMirror(rest)
	case kind == "protocol":
		r.Protocol = rest
	case kind == "only" && rest == "Envoy":
		r.OnlyEnvoy = true
	case kind == "certificate":
		r.Certificate = rest
	case kind == "path":
		r.Path = rest
	case kind == "host":
		r.Host = rest
	case kind == "request" && isHeader:
		r.ToBackend[name] = value
	case kind == "response" && isHeader:
		r.Answer[name] = value
	default:
		return fmt.Errorf("unknown detail %q", detail)
	}
	return nil
}

// parseMirror takes b or b=N.
func (r *Request) parseMirror(text string) (err error) {
	name, share, ok := strings.Cut(text, "=")
	r.Mirrors[name] = 100
	if ok {
		r.Mirrors[name], err = strconv.Atoi(share)
	}
	return err
}

// Sender returns the address of the client, unless trusted hops in front name another one.
func (r Request) Sender() string { return cmp.Or(r.Proxy, r.From, "127.0.0.1") }

// Connection reports whether the line is about a connection or datagram.
func (r Request) Connection() bool { return explain.Query{Scheme: r.URL.Scheme}.ForConnection() }

// BackendNames returns the names of the expected backends, sorted.
func (r Request) BackendNames() []string { return slices.Sorted(maps.Keys(r.Backends)) }

func writeFile(path string, data []byte) error {
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("update case: %w", err)
	}
	return nil
}
