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

// echo answers HTTP requests with what it saw of them:
//
//	/health                 200
//	/status/NNN             that status
//	/retry/…                fails a few times first: retry
//	/ws                     a WebSocket that sends back what it receives
//	anything else           the request as JSON: answer
type echo struct {
	container *container
	port      string

	mu       sync.Mutex
	failures map[string]int // of /retry/, by uuid
}

// answer is a request as its backend saw it, in the form that the suite's
// roundtripper.CapturedRequest decodes. The port is that of plain HTTP, whichever
// one the request came by.
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

// serveHTTP is the default program: HTTP/1.1, HTTP/2 without TLS on a port of
// its own and, if the environment names a certificate, HTTPS.
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

func (e *echo) server(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ErrorLog: log.New(e.container.log, "", 0)}
}

// onlyHTTP2 echoes, and rejects HTTP/1.1 so that a proxy which does not heed
// appProtocol is found out.
func (e *echo) onlyHTTP2(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 2 {
		http.Error(w, "this port speaks HTTP/2 without TLS", http.StatusBadRequest)
		return
	}
	e.echo(w, r)
}

// ServeHTTP routes by the path with "//" folded to "/"; what is echoed is the
// path as it came.
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

func status(w http.ResponseWriter, code string) {
	number, err := strconv.Atoi(code)
	if err != nil || number < 100 || number > 999 {
		number = http.StatusBadRequest
	}
	w.WriteHeader(number)
}

// echo logs the request in the words that the mirror tests search for, waits as
// the query's delay says, and answers.
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
	_, _ = w.Write(body) // the client may have gone
}

// setHeaders sets what X-Echo-Set-Header asks for, "name:value, …": names keep
// their case, and values of one name are joined.
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

// wait sleeps for a duration such as "1s", not at all when it is empty. False:
// the request is over, as the client has gone or the duration is none.
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

// retry plays a backend that fails: the first succeedAfter attempts of a uuid
// end, after delayRetry, with status responseCode, or with a TCP reset when none
// is given. Later attempts are echoed.
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

// fails counts an attempt and tells whether it shall fail.
func (e *echo) fails(uuid string, succeedAfter int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failures[uuid] >= succeedAfter {
		return false
	}
	e.failures[uuid]++
	return true
}

// reset ends the request's connection with a TCP RST.
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
		_ = tcp.SetLinger(0) // closed already, then
	}
	_ = below.Close()
}

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
