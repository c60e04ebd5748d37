package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// echo is the HTTP server of echo-basic:
//
//	/health                 200
//	/status/NNN             the status NNN
//	/retry/…                the method retry: fails a few times first
//	/ws                     a WebSocket that sends back each message
//	other paths             the method echo: the request as JSON
type echo struct {
	container *container
	port      string

	mu       sync.Mutex
	failures map[string]int // failed requests to /retry/, by uuid
}

// answer describes a request that the backend received. It has the format of roundtripper.CapturedRequest of
// the suite. HTTPPort is always the port of plain HTTP, also for requests to other ports.
type answer struct {
	Path     string              `json:"path"`
	Host     string              `json:"host"`
	Method   string              `json:"method"`
	Proto    string              `json:"proto"`
	Headers  map[string][]string `json:"headers"`
	HTTPPort string              `json:"httpPort"`

	Namespace string `json:"namespace"`
	Ingress   string `json:"ingress"`
	Service   string `json:"service"`
	Pod       string `json:"pod"`

	TLS *handshake `json:"tls,omitempty"`
}

// serveHTTP replaces the image echo-basic in a pod that does not choose another program by a variable. It serves
// HTTP/1.1, and HTTP/2 without TLS on another port. If the environment names a certificate, it also serves HTTPS.
func serveHTTP(c *container) error {
	e := &echo{container: c, port: c.variable("HTTP_PORT", "3000"), failures: map[string]int{}}
	plain, err := c.listen(e.port)
	if err != nil {
		return err
	}
	h2c, err := c.listen(c.variable("H2C_PORT", "3001"))
	if err != nil {
		return err
	}
	secure := c.tls("TLS_SERVER_PRIVKEY", "h2", "http/1.1")
	if secure != nil {
		encrypted, err := c.listen(c.variable("HTTPS_PORT", "8443"))
		if err != nil {
			return err
		}
		server := e.server(e)
		server.TLSConfig = secure
		c.serve(func() error { return server.ServeTLS(encrypted, "", "") })
	}
	c.serve(func() error { return e.server(e).Serve(plain) })
	server := e.server(http.HandlerFunc(e.onlyHTTP2))
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	c.serve(func() error { return server.Serve(h2c) })
	return nil
}

// server returns an HTTP server that logs its errors to the log of the pod.
func (e *echo) server(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ErrorLog: log.New(e.container.log, "", 0)}
}

// onlyHTTP2 answers HTTP/2 requests like the method echo, and HTTP/1.1 requests with 400. So the tests notice a
// proxy that ignores appProtocol.
func (e *echo) onlyHTTP2(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 2 {
		http.Error(w, "this port speaks HTTP/2 without TLS", http.StatusBadRequest)
		return
	}
	e.echo(w, r)
}

// ServeHTTP answers a request by its path, with "//" replaced by "/". The echoed path is the original path.
func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.ReplaceAll(r.URL.Path, "//", "/")
	code, isStatus := strings.CutPrefix(path, "/status/")
	switch {
	case path == "/health":
		fmt.Fprint(w, "OK")
	case isStatus:
		status(w, code)
	case strings.HasPrefix(path, "/retry/"):
		e.retry(w, r)
	case path == "/ws":
		e.webSocket(w, r)
	default:
		e.echo(w, r)
	}
}

// status answers with the status code, or with 400 if code is not a status.
func status(w http.ResponseWriter, code string) {
	number, err := strconv.Atoi(code)
	if err != nil || number < 100 || number > 999 {
		number = http.StatusBadRequest
	}
	w.WriteHeader(number)
}

// echo logs the request, waits for the duration in the query parameter delay, and answers with the request as
// JSON. The mirror tests search the log for the logged text.
func (e *echo) echo(w http.ResponseWriter, r *http.Request) {
	e.container.log.printf("Echoing back request made to %s to client (%s)", r.RequestURI, r.RemoteAddr)
	if !wait(r.Context(), w, r.URL.Query().Get("delay")) {
		return
	}
	body, err := json.MarshalIndent(&answer{
		Path:      r.RequestURI,
		Host:      r.Host,
		Method:    r.Method,
		Proto:     r.Proto,
		Headers:   r.Header,
		HTTPPort:  e.port,
		Namespace: e.container.env["NAMESPACE"],
		Ingress:   e.container.env["INGRESS_NAME"],
		Service:   e.container.env["SERVICE_NAME"],
		Pod:       e.container.env["POD_NAME"],
		TLS:       newHandshake(r.TLS),
	}, "", " ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	setHeaders(w.Header(), r.Header.Values("X-Echo-Set-Header"))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(body) // the client may have disconnected
}

// setHeaders sets the response headers that X-Echo-Set-Header lists as "name:value, name:value". It keeps the
// case of names, and joins several values of the same name with commas.
func setHeaders(to http.Header, wanted []string) {
	for _, pair := range strings.Split(strings.Join(wanted, ","), ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), ":")
		switch {
		case !ok || name == "":
		case len(to[name]) == 0:
			to[name] = []string{value}
		default:
			to[name][0] += "," + value
		}
	}
}

// wait waits for a duration such as "1s"; "" means no wait. It returns false if the client has disconnected, or
// if the duration is invalid and wait has answered 400.
func wait(ctx context.Context, w http.ResponseWriter, text string) bool {
	if text == "" {
		return true
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retry reads the query parameters uuid, succeedAfter, delayRetry and responseCode. The first succeedAfter requests
// with the same uuid fail; the method echo answers later ones. A failed request waits for the time delayRetry.
// Then it gets the status responseCode, or a TCP reset if responseCode is not set. A request without uuid, or
// without a number in succeedAfter, gets 400. A failed request with an invalid delayRetry gets 400, too.
func (e *echo) retry(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	uuid := query.Get("uuid")
	succeedAfter, err := strconv.Atoi(query.Get("succeedAfter"))
	if uuid == "" || err != nil {
		http.Error(w, "uuid and succeedAfter are required", http.StatusBadRequest)
		return
	}
	if !e.fails(uuid, succeedAfter) {
		e.echo(w, r)
		return
	}
	if !wait(r.Context(), w, query.Get("delayRetry")) {
		return
	}
	if code := query.Get("responseCode"); code != "" {
		status(w, code)
		return
	}
	reset(w)
}

// fails reports whether this request must fail, and counts it if so. The first succeedAfter requests with a
// uuid fail.
func (e *echo) fails(uuid string, succeedAfter int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failures[uuid] >= succeedAfter {
		return false
	}
	e.failures[uuid]++
	return true
}

// reset closes the connection of a request with a TCP RST. With HTTP/2, only the request ends.
func reset(w http.ResponseWriter) {
	hijacked, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2
		panic(http.ErrAbortHandler)
	}
	below := hijacked
	if secure, ok := hijacked.(interface{ NetConn() net.Conn }); ok {
		below = secure.NetConn()
	}
	if tcp, ok := below.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // the error means that it is already closed
	}
	_ = below.Close()
}

// webSocket accepts a WebSocket and sends back each message.
func (e *echo) webSocket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer func() { _ = ws.Close() }()
	e.container.log.printf("WebSocket of %s", ws.RemoteAddr())
	for {
		kind, message, err := ws.ReadMessage()
		if err != nil {
			return
		}
		if err := ws.WriteMessage(kind, message); err != nil {
			return
		}
	}
}
