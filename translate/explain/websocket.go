package explain

import (
	"net/http"
	"strings"
)

// overHTTP returns the http or https URL for a ws or wss URL, and the headers that a WebSocket client sends
// (RFC 6455, section 4.1). For any other URL it returns the URL unchanged and no headers.
func overHTTP(address string) (string, http.Header) {
	scheme, rest, _ := strings.Cut(address, "://")
	secure := strings.EqualFold(scheme, "wss")
	if !secure && !strings.EqualFold(scheme, "ws") {
		return address, http.Header{}
	}
	headers := http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
		"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, // the example of RFC 6455
	}
	if secure {
		return "https://" + rest, headers
	}
	return "http://" + rest, headers
}
