package expect

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

// Request is one line of a file of tests: a request, a connection or a datagram, and what must happen to it.
// docs/reference/tests.md describes the syntax of a line.
type Request struct {
	// File and Number are the place of the line. Line is its text.
	File   string
	Number int
	Line   string
	indent int // the number of white space characters before Line in the file

	Method string // "" for a connection or a datagram
	URL    *url.URL
	Target string // path and query as written
	// Headers are the headers that the line contains, without Host. The method Header returns all headers.
	Headers http.Header
	// Authority is the Host header, with or without a port. It is that of the URL unless the line has a Host
	// header.
	Authority string
	ownHost   bool // true if the line has a Host header
	// BigSize is the length of the header X-Big, 0 for none.
	BigSize int
	// BodySize is the length of the request's body.
	BodySize int
	// OnlyEnvoy is true if the line says that only Envoy can answer it ("| only Envoy").
	OnlyEnvoy bool
	// WhenAllowed is true if the line is only about requests that external services allow and that no limit
	// rejects.
	WhenAllowed bool
	// Gateway is the Gateway that the request is sent to, "" for the only Gateway on the port.
	Gateway string
	// Proxy is the client's address in a PROXY header, "" for no such header.
	Proxy string
	// From is the address that the request comes from, "" for any.
	From string
	// SNI is the server name in the TLS handshake, "" for none.
	SNI string
	// HTTP2 is true for a request over HTTP/2. TLS12 is true if the client offers no later version than TLS 1.2.
	HTTP2, TLS12 bool
	// Client is the name in the client's certificate, "" for none. ClientOf is the name of the certificate
	// authority that signed it.
	Client, ClientOf string
	// Certificate is the first name in the certificate that Envoy must send, "" for any.
	Certificate string
	// Status is the status of an answer by Envoy itself. It is 0 if the line expects a backend or a closed
	// connection.
	Status int
	// GRPCStatus is the grpc-status of an answer, "" for none.
	GRPCStatus string
	// Closed is true if the line expects that nothing listens on the port, or that Envoy closes the connection.
	Closed   bool
	Location string
	// By is the object because of which Envoy must answer instead of the rule. The zero Key means any object. The
	// Group of By is always "".
	By manifest.Key
	// Backends are the weights of the backends by name.
	Backends map[string]int
	// Failure is the status that the answer must have although the line expects a backend ("| status 503"). 0 means
	// 200.
	Failure int
	// Mirrors are the backends that get copies, with the number of copies in 100 requests.
	Mirrors map[string]int
	// Protocol is the protocol to the backend, "" for any. Path and Host are those that the backend receives, ""
	// for any.
	Protocol string
	Path     string
	Host     string
	// ToBackend are headers that the backend must receive. Answer are headers of the answer. The value "-" means
	// absent.
	ToBackend, Answer map[string]string
}

// Sender returns the address of the client that the line contains: that of PROXY, or else that of FROM. It
// returns "" if the line contains neither.
func (r Request) Sender() string {
	if r.Proxy != "" {
		return r.Proxy
	}
	return r.From
}

// Port returns the port that the client connects to: that of the URL, or the default port of its scheme.
func (r Request) Port() uint32 {
	if port, err := strconv.ParseUint(r.URL.Port(), 10, 16); err == nil {
		return uint32(port)
	}
	if r.URL.Scheme == "https" {
		return 443
	}
	return 80
}

// Connection reports whether the line is about a connection or datagram.
func (r Request) Connection() bool { return explain.Query{Scheme: r.URL.Scheme}.ForConnection() }

// Header returns the headers of the request. The caller may change them.
func (r Request) Header() http.Header {
	all := r.Headers.Clone()
	if r.BigSize > 0 { // the header is made here and not by Parse, because a file may have many lines
		all.Set("X-Big", strings.Repeat("x", r.BigSize))
	}
	return all
}

// BackendNames returns the names of the expected backends, sorted.
func (r Request) BackendNames() []string { return slices.Sorted(maps.Keys(r.Backends)) }

// Place returns the place of the line as FILE:LINE.
func (r Request) Place() string { return fmt.Sprintf("%s:%d", r.File, r.Number) }

// query returns the line as a query for package explain. If the line contains no address of the client, From is
// not valid (see Judge.Query).
func (r Request) query() explain.Query {
	query := explain.Query{Scheme: r.URL.Scheme, Host: r.Authority, Port: r.Port(), Gateway: r.Gateway}
	if sender, err := netip.ParseAddr(r.Sender()); err == nil {
		query.From = sender
	}
	if r.Connection() {
		return query
	}
	query.Method, query.Path, query.Headers, query.SNI = r.Method, r.Target, r.Header(), r.SNI
	if query.SNI == "" {
		query.SNI = "-"
	}
	return query
}
