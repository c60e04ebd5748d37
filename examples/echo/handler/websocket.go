package handler

import (
	"crypto/sha1" //nolint:gosec // the handshake is defined by it (RFC 6455, 4.2.2)
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
)

// acceptGUID is appended to the client's key before it is hashed (RFC 6455, 1.3).
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// upgrade accepts a WebSocket and sends every received byte back unchanged, until the client disconnects. It
// answers 400 if the request is not HTTP/1.1.
func upgrade(w http.ResponseWriter, r *http.Request, name string) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "a WebSocket needs HTTP/1.1", http.StatusBadRequest)
		return
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		return // the client has disconnected
	}
	defer func() { _ = conn.Close() }()
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + acceptGUID)) //nolint:gosec // as above
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: %s\r\n%s: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]), BackendHeader, name)
	_, _ = io.Copy(conn, buffered)
}
