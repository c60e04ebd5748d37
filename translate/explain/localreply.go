package explain

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// knownMethods are the methods that Envoy's HTTP/1.1 parser knows.
var knownMethods = setOf(
	"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "COPY", "LOCK", "MKCOL", "MOVE",
	"PROPFIND", "PROPPATCH", "SEARCH", "UNLOCK", "BIND", "REBIND", "UNBIND", "ACL", "REPORT", "MKACTIVITY", "CHECKOUT",
	"MERGE", "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE", "PURGE", "MKCALENDAR", "LINK", "UNLINK", "SOURCE", methodQuery,
)

// methodQuery is a safe method with a body (draft-ietf-httpbis-safe-method-w-body). A request with this method
// needs a Content-Type.
const methodQuery = "QUERY"

const (
	maxConnectionTokens = 9
	maxTE               = 255
	badPath             = "Envoy refuses the path: it has to begin with / and be of printable ASCII"
	tooLarge            = "the request is too large: Envoy takes 60 KB of request line and headers, and 100 headers with Host"
	// notInHost are the printable characters that a Host header must not have.
	notInHost = "\"#/<>?\\^`{|} "
)

// readByCodec returns the local reply of Envoy's HTTP/1.1 codec, nil if the codec accepts the request. The
// checks are in the codec's order. It also removes the headers that the Connection header names.
func (m *connectionManager) readByCodec() *localReply {
	r := m.request
	refuse := func(status uint32, why string) *localReply { return &localReply{status: status, why: why, raw: true} }
	switch te, length := r.headers["transfer-encoding"], r.headers["content-length"]; {
	case len(r.query.Method)+len(r.query.Path) > maxRequestBytes: // the codec never reads the end of the line
		return refuse(http.StatusRequestHeaderFieldsTooLarge, tooLarge)
	case !knownMethods[r.query.Method]:
		return refuse(http.StatusBadRequest, fmt.Sprintf("Envoy does not know the method %s of HTTP/1.1", r.query.Method))
	case !all(r.query.Path, func(c byte) bool { return c < 0x80 }):
		return refuse(http.StatusBadRequest, badPath)
	case r.query.tooLarge():
		return refuse(http.StatusRequestHeaderFieldsTooLarge, tooLarge)
	case !isTarget(r.query.Path):
		return refuse(http.StatusBadRequest, badPath)
	case hasControls(r.query.Headers):
		return refuse(http.StatusBadRequest, "Envoy refuses a header with a control character")
	case len(length) > 1 || len(length) == 1 && !isLength(length[0]) || len(te) > 0 && len(length) > 0:
		return refuse(http.StatusBadRequest, "Envoy refuses the content-length")
	case r.headers.count()+1 > maxHeaders:
		return refuse(http.StatusRequestHeaderFieldsTooLarge, tooLarge)
	case len(te) > 0 && (!strings.EqualFold(te[0], "chunked") || r.query.Method == http.MethodConnect):
		return refuse(http.StatusNotImplemented, "Envoy knows no transfer-encoding but chunked")
	case r.query.Method == http.MethodConnect && r.query.Path != "/":
		return refuse(http.StatusBadRequest, "CONNECT names a host and no path")
	case r.query.Method == http.MethodConnect && len(length) == 1 && length[0] != "0":
		return refuse(http.StatusBadRequest, "Envoy refuses CONNECT with a body: its content-length is not 0")
	case r.query.Method == http.MethodConnect:
		return refuse(http.StatusNotFound, "no route takes CONNECT: gatefold opens no tunnels")
	case !isHost(r.query.Host):
		return refuse(http.StatusBadRequest, fmt.Sprintf("Envoy refuses the Host %q: it has a character that no host has", r.query.Host))
	}
	r.chunked = r.headers.has("transfer-encoding")
	return m.cleanConnection(refuse)
}

// managed returns the answer of Envoy's connection manager to a request that the HTTP/1.1 codec accepts. It
// returns nil if the connection manager accepts the request, too. For connect-udp, it also replaces the host
// (see readDatagramTarget).
func (m *connectionManager) managed() *localReply {
	r := m.request
	path, _, _ := strings.Cut(r.query.Path, "?")
	switch {
	case m.hostless:
		return &localReply{status: http.StatusBadRequest, why: "the Connection header takes the Host header away"}
	case !m.readDatagramTarget():
		return &localReply{status: http.StatusNotFound, why: "Envoy takes upgrade: connect-udp only for a path /.well-known/masque/udp/HOST/PORT/"}
	case strings.Contains(r.query.Path, "#") || strings.Contains(ir.StripDotParameters(path), "%00"):
		return &localReply{status: http.StatusBadRequest, why: "Envoy refuses the path: it has # or %00"}
	case r.query.Method == methodQuery && r.headers.first("content-type") == "":
		return &localReply{status: http.StatusBadRequest, why: "Envoy refuses QUERY without a content-type"}
	}
	return nil
}

// readDatagramTarget handles a request with the header upgrade: connect-udp (RFC 9298). It replaces the request's
// host by HOST:PORT from the path /.well-known/masque/udp/HOST/PORT/. Envoy does this even if the request has no
// Connection header. readDatagramTarget returns false if the path does not have this form, or if HOST has an
// invalid escape. For a request without the upgrade header it does nothing and returns true.
func (m *connectionManager) readDatagramTarget() bool {
	r := m.request
	if !strings.EqualFold(r.headers.first("upgrade"), "connect-udp") {
		return true
	}
	path := r.path + r.search
	parts := strings.Split(path, "/")
	if !strings.HasPrefix(path, "/.well-known/masque/udp/") || len(parts) != 7 || parts[4] == "" || parts[5] == "" || parts[6] != "" {
		return false
	}
	host, err := url.PathUnescape(parts[4])
	if err != nil {
		return false
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	r.query.Host = host + ":" + parts[5]
	return true
}

// cleanConnection removes the headers that the Connection header names, as Envoy does. There are these exceptions:
//   - If the Connection header names TE, "trailers" stays in the TE header.
//   - Headers that every request loses later, such as Keep-Alive, stay.
//   - Host stays. If the Connection header names Host, cleanConnection sets m.hostless.
//   - A request for an upgrade does not change, unless the upgrade is to h2c, which Envoy does not support.
//
// If Envoy rejects the Connection header, cleanConnection calls the function refuse with the status 400, and returns
// the result. Otherwise it returns nil.
func (m *connectionManager) cleanConnection(refuse func(uint32, string) *localReply) *localReply {
	r := m.request
	if r.upgrades() {
		if !strings.EqualFold(r.headers.first("upgrade"), "h2c") {
			return nil
		}
		r.headers.remove("http2-settings")
		r.headers.remove("upgrade")
	}
	named := tokens(r.headers.first("connection"))
	if len(named) > maxConnectionTokens {
		return refuse(http.StatusBadRequest, fmt.Sprintf("the Connection header names more than %d headers", maxConnectionTokens))
	}
	for _, name := range named {
		switch name = strings.ToLower(name); name {
		case "close", "http2-settings", "keep-alive", "upgrade", "connection":
		case "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto":
			return refuse(http.StatusBadRequest, "the Connection header may not take "+name+" away")
		case "host":
			m.hostless = true
		case "te":
			if len(r.headers.first("te")) > maxTE {
				return refuse(http.StatusBadRequest, "the Connection header names a TE header that is too long")
			}
			m.nominatedTE()
		default:
			if strings.HasPrefix(name, ":") {
				return refuse(http.StatusBadRequest, "the Connection header names "+name)
			}
			r.headers.remove(name)
		}
	}
	return nil
}

// nominatedTE sets the header TE of a request whose Connection header names TE. It keeps "trailers", in upper
// or lower case, and removes everything else.
func (m *connectionManager) nominatedTE() {
	h := m.request.headers
	if slices.ContainsFunc(tokens(h.first("te")), func(token string) bool { return strings.EqualFold(token, "trailers") }) {
		h.set("te", "trailers")
		return
	}
	h.remove("te")
}

// isTarget reports whether Envoy's parser accepts a path with its query.
func isTarget(target string) bool {
	return strings.HasPrefix(target, "/") && all(target, isURLChar)
}

// isHost reports whether Envoy accepts the characters of a Host header.
func isHost(host string) bool {
	return all(host, func(c byte) bool { return c > ' ' && c < 0x7f && strings.IndexByte(notInHost, c) < 0 })
}

// isLength reports whether Envoy can read a Content-Length: it has at most 18 digits and nothing else.
func isLength(text string) bool { return text != "" && len(text) < 19 && all(text, isDigit) }

// hasControls reports whether a header value has a control character other than a tab.
func hasControls(headers http.Header) bool {
	for _, values := range headers {
		for _, value := range values {
			if !all(value, func(c byte) bool { return c == '\t' || c >= ' ' && c != 0x7f }) {
				return true
			}
		}
	}
	return false
}

// clientAddress returns the client's address as Envoy determines it: the entry of X-Forwarded-For that the first
// trusted hop wrote. The parameter hops is the number of trusted hops. If hops is 0, or if the entry is missing or
// invalid, the result is the address of the connection (the parameter connection). This address is not valid if
// the query has no address.
func clientAddress(forwardedFor string, hops int, connection netip.Addr) netip.Addr {
	parts := strings.Split(forwardedFor, ",")
	if hops == 0 || hops > len(parts) {
		return connection
	}
	address, err := netip.ParseAddr(strings.Trim(parts[len(parts)-hops], " \t"))
	if err != nil {
		return connection
	}
	return address
}

// addressText returns an address as Envoy writes it, or unknownClient if it is invalid.
func addressText(address netip.Addr) string {
	if !address.IsValid() {
		return unknownClient
	}
	return address.String()
}

// localReply is an answer that Envoy sends before it looks for a route.
type localReply struct {
	status uint32
	why    string
	// raw is true if gRPC clients get the answer with its HTTP status, as other clients do, because Envoy has not
	// read the headers yet.
	raw bool
}
