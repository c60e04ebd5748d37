package explain

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// connectionManager changes a request as Envoy's HTTP connection manager and its codec do before Envoy looks
// for a route. It also decides whether they answer the request themselves.
type connectionManager struct {
	request *request
	port    *ir.Port // the listener that accepts the request
	// hostless is true if the Connection header removed Host.
	hostless bool
}

// receive returns the request as Envoy's HTTP connection manager changes it before it looks for a route: its
// headers, path, host, client address and scheme. The localReply is nil unless Envoy answers the request
// itself.
func receive(query Query, port *ir.Port) (*request, *localReply) {
	r := newRequest(query)
	m := &connectionManager{request: r, port: port}
	if refused := m.readByCodec(); refused != nil {
		return r, refused
	}
	if refused := m.managed(); refused != nil {
		return r, refused
	}
	m.writeHeaders()
	if r.headers.first("x-forwarded-proto") == "" {
		return r, &localReply{status: http.StatusNotFound, why: "Envoy looks for no route: x-forwarded-proto is empty"}
	}
	return r, nil
}

// writeHeaders removes and sets headers as Envoy does at the edge (use_remote_address).
func (m *connectionManager) writeHeaders() {
	r := m.request
	h := r.headers
	for name := range ir.StrippedHeaders() {
		h.remove(name)
	}
	if m.port.TrustedHops == 0 {
		for _, name := range ir.ClaimedHeaders() {
			h.remove(name)
		}
	}
	if strings.EqualFold(h.first("expect"), "100-continue") { // Envoy answers 100 by itself
		h.remove("expect")
	}
	if r.upgrades() {
		if !h.has("content-length") && !r.chunked {
			h.set("content-length", "0")
		}
	} else {
		h.remove("connection")
		h.remove("upgrade")
		m.cleanTE()
	}
	if referer := h.first("referer"); referer != "" && !isReferer(referer) {
		h.remove("referer")
	}
	m.writeOrigin()
	h.set("x-request-id", unknownID)
}

// cleanTE removes everything except "trailers" from the TE header.
func (m *connectionManager) cleanTE() {
	h := m.request.headers
	switch te := h.first("te"); {
	case te == "":
	case slices.Contains(tokens(te), "trailers"):
		h.set("te", "trailers")
	default:
		h.remove("te")
	}
}

// writeOrigin sets the client's address and the scheme of the request, and the headers about them. Without
// trusted hops, the address and the scheme are those of the connection. With trusted hops, the scheme is the one in
// X-Forwarded-Proto. The address is then the entry of X-Forwarded-For that the first trusted hop wrote (see
// clientAddress).
func (m *connectionManager) writeOrigin() {
	r := m.request
	h, scheme := r.headers, "http"
	if m.port.Secure() {
		scheme = "https"
	}
	hops := int(m.port.TrustedHops)
	r.client = clientAddress(h.first("x-forwarded-for"), hops, r.query.From)
	h.set("x-envoy-external-address", addressText(r.client))
	if r.query.From.IsLoopback() { // Envoy writes its own address instead of a loopback address
		h.add("x-forwarded-for", unknownClient)
	} else {
		h.add("x-forwarded-for", addressText(r.query.From))
	}
	if hops == 0 || !h.has("x-forwarded-proto") {
		h.set("x-forwarded-proto", scheme)
	}
	r.scheme = scheme
	if said := strings.ToLower(h.first("x-forwarded-proto")); said == "http" || said == "https" {
		r.scheme = said
	}
}
