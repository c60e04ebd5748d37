// Package handler is the HTTP handler of the echo backend, for the examples and the tests. It answers every
// request with a description of the request that it received. So a reader sees which backend answered, and what
// the gateway changed.
package handler

import (
	"encoding/json"
	"net/http"
	"strings"
)

// BackendHeader is the response header with the name of the backend.
const BackendHeader = "X-Echo-Backend"

// Answer is the JSON body of a response. It describes the request that the backend received.
type Answer struct {
	Backend string `json:"backend"`
	// Proto is HTTP/1.1 or HTTP/2.0.
	Proto  string `json:"proto"`
	Method string `json:"method"`
	Host   string `json:"host"`
	// Path is the path of the request line: neither decoded nor normalized.
	Path string `json:"path"`
	// Query is the query without the "?".
	Query   string      `json:"query"`
	Headers http.Header `json:"headers"`
}

// Echo returns a handler for the backend with this name. The handler answers each request with an Answer, and with
// the name in the header BackendHeader. The query parameters delay, status and times change the answer, to test
// timeouts and retries (see misbehaviour). The default status is 200. A request with an invalid parameter gets 400,
// without an Answer. The handler accepts WebSockets and sends back what it receives on them.
func Echo(name string) http.Handler {
	var count counter
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := count.statusOf(r)
		if err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			upgrade(w, r, name)
			return
		}
		path, query, _ := strings.Cut(r.RequestURI, "?")
		body, err := json.Marshal(Answer{name, r.Proto, r.Method, r.Host, path, query, r.Header})
		if err != nil {
			panic(err) // strings always marshal
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(BackendHeader, name)
		w.WriteHeader(status)
		_, _ = w.Write(append(body, '\n')) // an error means that the client has disconnected
	})
}
