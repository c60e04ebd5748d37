// Package handler is the echo backend of the examples and of the tests: it
// answers every request with what it received, so that a reader sees which back
// end was reached and what the gateway changed on the way.
package handler

import (
	"encoding/json"
	"net/http"
	"strings"
)

// BackendHeader is the response header that names the backend that answered.
const BackendHeader = "X-Echo-Backend"

// Answer is the JSON body of every response: the request as it arrived.
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

// Echo answers each request with status 200, its Answer and the name of the backend in
// BackendHeader. The query parameters delay, status and times make it slow or let it fail, to
// test timeouts and retries. It accepts WebSockets and echoes their messages.
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
		_, _ = w.Write(append(body, '\n')) // an error means that the caller has gone
	})
}
