package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// Envoy answers 431 to requests that are larger than maxRequestBytes or maxHeaders (docs/design/gateways.md;
// maxHeaders is Envoy's own limit). These limits also bound what one query costs here.
const (
	maxRequestBytes = 60 << 10 // request line and headers together
	maxHeaders      = 100      // with Host

	// A query above one of these limits is an error. Envoy would reject a much smaller request.
	maxQueryBytes   = 1 << 20 // URL, method and headers together
	maxQueryHeaders = 1000
)

// Query is a request as a client sends it, or a connection (see ForConnection).
type Query struct {
	// Gateway is "namespace/name". "" means the only Gateway that fits.
	Gateway string
	Scheme  string // "http" or "https"; "" means "http"; see also ForConnection
	Host    string // the Host header, with or without a port
	// SNI is the server name in the TLS handshake, "-" for none. "" means the name in Host.
	SNI string
	// Port is the port that the client connects to. 0 means the port in Host, or the scheme's default if Host has
	// no port.
	Port    uint32
	Method  string // "" means GET
	Path    string // as the client sends it, with the query
	Headers http.Header
	// From is the address that the client connects from, or that a PROXY header reports. It is not valid if it is
	// not known.
	From netip.Addr
}

// complete returns the query with a default Scheme, SNI, Method, Path and Port if these are not set. For a
// connection, it sets the scheme only.
func complete(query Query) Query {
	query.Scheme = cmp.Or(strings.ToLower(query.Scheme), "http")
	if query.ForConnection() {
		return query
	}
	query.SNI = cmp.Or(query.SNI, serverName(hostname(query.Host)))
	query.Method = cmp.Or(query.Method, http.MethodGet)
	query.Path = cmp.Or(query.Path, "/")
	if query.Port != 0 {
		return query
	}
	if i := portStart(query.Host); i >= 0 {
		if port, err := strconv.ParseUint(query.Host[i+1:], 10, 16); err == nil {
			query.Port = uint32(port)
			return query
		}
	}
	query.Port = 80
	if query.Scheme == "https" {
		query.Port = 443
	}
	return query
}

// ForConnection reports whether the query is about a connection or datagram instead of a request. The URL of such
// a query is tcp://HOST:PORT, udp://HOST:PORT or tls://NAME:PORT, where NAME is the server name.
func (q Query) ForConnection() bool { return slices.Contains([]string{"tcp", "tls", "udp"}, q.Scheme) }

// NewQuery parses a request as curl does: a method, an absolute URL, and headers as "name: value". A Host
// header replaces the URL's host, but not its port, and not the server name in the TLS handshake. The path is
// kept as written. The schemes ws and wss mean a WebSocket over http and https. The schemes tcp, tls and udp mean a
// connection: method must then be "", and there must be no headers. NewQuery returns an error if the query is
// invalid or too large.
func NewQuery(method, address string, headers []string) (Query, error) {
	if err := checkSize(method, address, headers); err != nil {
		return Query{}, err
	}
	address, _, _ = strings.Cut(address, "#") // clients do not send it
	address, upgrade := overHTTP(address)
	u, err := parseAuthority(address)
	switch {
	case err != nil:
		return Query{}, fmt.Errorf("the URL cannot be read: %w", err)
	case u.Scheme == "tcp", u.Scheme == "tls", u.Scheme == "udp":
		return connectionQuery(method, u, headers)
	case u.Scheme != "http" && u.Scheme != "https":
		return Query{}, fmt.Errorf("the URL %q needs a scheme: http or https://HOST[:PORT]/PATH, ws or wss for a WebSocket, or tcp, tls or udp://HOST:PORT", address)
	case u.Hostname() == "":
		return Query{}, fmt.Errorf("the URL %q names no host", address)
	case !ir.IsToken(method):
		return Query{}, fmt.Errorf("%q is not a method", method)
	}
	q := Query{Scheme: u.Scheme, Host: u.Host, Method: method, Path: target(address), Headers: upgrade, SNI: serverName(strings.ToLower(u.Hostname()))}
	if q.Port, err = portOf(u); err != nil {
		return Query{}, err
	}
	for _, header := range headers {
		if err := q.addHeader(header); err != nil {
			return Query{}, err
		}
	}
	return q, nil
}

// SetFrom sets From to an IP address. "" leaves From unchanged. It returns an error for other texts.
func (q *Query) SetFrom(address string) error {
	if address == "" {
		return nil
	}
	from, err := netip.ParseAddr(strings.Trim(address, "[]"))
	if err != nil || from.Zone() != "" {
		return fmt.Errorf("%q is not an IP address: the client's address is one such as 192.0.2.7 or 2001:db8::7", address)
	}
	q.From = from
	return nil
}

// checkSize returns an error if a query has more than maxQueryBytes bytes or maxQueryHeaders headers.
func checkSize(method, address string, headers []string) error {
	size := len(method) + len(address)
	for _, header := range headers {
		size += len(header)
	}
	switch {
	case len(headers) > maxQueryHeaders:
		return fmt.Errorf("the question has %d headers: Envoy takes %d with Host, and explain reads %d", len(headers), maxHeaders, maxQueryHeaders)
	case size > maxQueryBytes:
		return fmt.Errorf("the question has %d KB: Envoy takes %d KB of request line and headers, and explain reads %d", size>>10, maxRequestBytes>>10, maxQueryBytes>>10)
	}
	return nil
}

// parseAuthority parses the scheme and host of a URL. It keeps all that follows the host as the path, even if
// this is not escaped correctly. It returns an error if scheme or host are invalid.
func parseAuthority(address string) (*url.URL, error) {
	_, rest, _ := strings.Cut(address, "://")
	path := ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		path = rest[i:]
	}
	u, err := url.Parse(strings.TrimSuffix(address, path))
	if err != nil {
		return nil, err
	}
	u.Path = path
	return u, nil
}

// MethodFor returns the method of a query, GET if method is "". It returns method unchanged if the URL is for a
// connection.
func MethodFor(method, address string) string {
	scheme, _, _ := strings.Cut(address, "://")
	if (Query{Scheme: scheme}).ForConnection() {
		return method
	}
	return cmp.Or(method, http.MethodGet)
}

// CheckMethod returns an error if a method has letters in lower case. HTTP allows such a method, and it is another
// one than the method in capitals, but the person who writes "get" means GET.
func CheckMethod(method string) error {
	if upper := strings.ToUpper(method); upper != method && ir.IsToken(method) {
		return fmt.Errorf("%q is not a method that clients send: methods are in capitals, write %s", method, upper)
	}
	return nil
}

// connectionQuery returns the query for a connection. It returns an error if there is a method, a header, or a
// path other than "/", or if host or port are missing or invalid.
func connectionQuery(method string, u *url.URL, headers []string) (Query, error) {
	port, err := portOf(u)
	switch {
	case method != "" || len(headers) > 0:
		return Query{}, fmt.Errorf("a connection has no method and no headers: ask for %s alone", u)
	case u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "":
		return Query{}, fmt.Errorf("the URL %q is not of the form %s://HOST:PORT", u, u.Scheme)
	}
	return Query{Scheme: u.Scheme, Host: u.Host, Port: port}, err
}

// target returns the path and query of a URL. An empty path becomes "/". Otherwise both are returned as written:
// "//" and ".." are kept.
func target(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	i := strings.IndexAny(rest, "/?")
	switch {
	case i < 0:
		return "/"
	case rest[i] == '?':
		return "/" + rest[i:]
	}
	return rest[i:]
}

// portOf returns the port of a URL. Without a port it returns the default port of http or https, and 0 for any
// other scheme. It returns an error if the port is not a number from 1 to 65535.
func portOf(u *url.URL) (uint32, error) {
	if u.Port() == "" {
		return map[string]uint32{"http": 80, "https": 443}[u.Scheme], nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("%s is not a port", u.Port())
	}
	return uint32(port), nil
}

// addHeader adds a header such as "name: value" to the query, or sets Host. It returns an error if the text has
// another form, or if the value has a line break or a NUL.
func (q *Query) addHeader(header string) error {
	name, value, found := strings.Cut(header, ":")
	value = strings.Trim(value, " \t")
	switch {
	case !found || !ir.IsToken(name):
		return fmt.Errorf("the header %q is not of the form 'name: value'", header)
	case strings.ContainsAny(value, "\r\n\x00"):
		return fmt.Errorf("the header %s has a line break in its value", name)
	case strings.EqualFold(name, "host"):
		q.Host = value
	default:
		q.Headers.Add(name, value)
	}
	return nil
}

// tooLarge reports whether Envoy rejects the request because its request line and headers are too long.
func (q Query) tooLarge() bool { return q.size() > maxRequestBytes }

// size returns the length of the request line and the headers in bytes.
func (q Query) size() int {
	size := len(q.Method + " " + q.Path + " HTTP/1.1\r\nHost: " + q.Host + "\r\n\r\n")
	for name, values := range q.Headers {
		for _, value := range values {
			size += len(name) + len(": \r\n") + len(value)
		}
	}
	return size
}

// URL returns the URL of the query.
func (q Query) URL() string { return q.Scheme + "://" + q.Host + q.Path }
