package envoytest

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// SignIn is an HTTP service that Envoy uses for external authorization.
type SignIn struct {
	name   string
	server *httptest.Server
	mu     sync.Mutex
	seen   map[string]int // calls by the value of x-flaky
}

// IsSignIn reports whether tests must start a SignIn for a backend with this name. These are names that start
// with "signin", and the products of docs/guides/sign-in.md.
func IsSignIn(name string) bool {
	return strings.HasPrefix(name, "signin") || slices.Contains([]string{"oauth2-proxy", "authelia", "authentik"}, name)
}

// StartSignIn starts the service on "ip:port". It uses TLS if config is not nil, and stops when the test ends.
//
// If name is one of the products in docs/guides/sign-in.md, such as authelia, the service answers like that product
// (signin_products.go). A service with another name answers 200 to requests with "authorization: Bearer good",
// "x-token: good" or the cookie session=good, and 401 to other requests. A service named "signin-open" also answers
// 200 to requests without x-token. The first request with each value of x-flaky gets 503.
//
// If name is not one of the products, a query parameter named answer decides instead:
//
//   - a number: this status
//   - nobody: 200 without the headers about the user
//   - hang: no answer
//   - reset: the connection is closed
//   - chunked: 200 in chunks
//
// Every answer of such a service has the header x-asked, which describes the request (see askedByHTTP). The
// headers about the user are x-user (the name of the service) and authorization. Only an answer with status 200
// has them.
func StartSignIn(t testing.TB, name, address string, config *tls.Config) *SignIn {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &SignIn{name: name, seen: map[string]int{}}
	handler := http.HandlerFunc(s.answer)
	switch name {
	case "oauth2-proxy":
		handler = oauth2Proxy
	case "authelia":
		handler = authelia
	case "authentik":
		handler = authentik
	}
	s.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}}
	if s.server.TLS = config; config == nil {
		s.server.Start()
	} else {
		s.server.StartTLS()
	}
	t.Cleanup(s.server.Close)
	return s
}

// answer is the handler of a SignIn, unless its name is one of the products in docs/guides/sign-in.md, such as
// authelia. StartSignIn describes the answers.
func (s *SignIn) answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	status, asks := http.StatusUnauthorized, r.URL.Query().Get("answer")
	if cookie, err := r.Cookie("session"); r.Header.Get("Authorization") == "Bearer good" || r.Header.Get("X-Token") == "good" || err == nil && cookie.Value == "good" {
		status = http.StatusOK
	}
	if s.name == "signin-open" && r.Header.Get("X-Token") == "" {
		status = http.StatusOK
	}
	if s.flaky(r.Header.Get("X-Flaky")) {
		status = http.StatusServiceUnavailable
	}
	if n, err := strconv.Atoi(asks); err == nil {
		status = n
	}
	switch asks {
	case "hang":
		<-r.Context().Done()
		return
	case "reset":
		panic(http.ErrAbortHandler)
	case "nobody", "chunked":
		status = http.StatusOK
	}
	headers, body := w.Header(), "sign in"
	headers.Set("X-Asked", askedByHTTP(r))
	if status == http.StatusOK && asks != "nobody" {
		headers.Set("X-User", s.name)
		headers.Set("Authorization", "Bearer from-"+s.name)
	}
	headers["Set-Cookie"] = []string{"a=1; Path=/", "b=2; Path=/"}
	headers.Set("Location", "https://login.example/?rd=x")
	headers.Set("Www-Authenticate", `Bearer realm="`+s.name+`"`)
	headers.Set("Content-Type", "text/html")
	headers.Set("X-Checked", s.name)
	if asks != "chunked" && status != http.StatusNoContent {
		headers.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead && status != http.StatusNoContent {
		_, _ = io.WriteString(w, body)
	}
}

// flaky reports whether this is the first request with this value. It returns false for "".
func (s *SignIn) flaky(value string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[value]++
	return value != "" && s.seen[value] == 1
}

// askedByHTTP returns a text that describes a request to a SignIn, such as "GET /a host=a.test authorization=x
// body=3". It leaves out the headers x-envoy-*, content-length, accept-encoding and user-agent.
func askedByHTTP(r *http.Request) string {
	body := ""
	if r.ContentLength > 0 {
		body = fmt.Sprint(" body=", r.ContentLength)
	}
	var headers []string
	for name, values := range r.Header {
		name = strings.ToLower(name)
		if !strings.HasPrefix(name, "x-envoy-") && !slices.Contains([]string{"content-length", "accept-encoding", "user-agent"}, name) {
			headers = append(headers, name+"="+strings.Join(values, "|"))
		}
	}
	slices.Sort(headers)
	return strings.Join(append([]string{r.Method, r.RequestURI, "host=" + r.Host}, headers...), " ") + body
}
