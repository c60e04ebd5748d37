package server_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// stream2 is a request over HTTP/2, as its bytes say it: nothing is checked or completed.
type stream2 struct {
	headers  []hpack.HeaderField
	body     string
	trailers []hpack.HeaderField
}

// pairs2 reads pairs of names and values.
func pairs2(pairs ...string) (out []hpack.HeaderField) {
	for pair := range slices.Chunk(pairs, 2) {
		out = append(out, hpack.HeaderField{Name: pair[0], Value: pair[1]})
	}
	return out
}

// attack2 sends a request over HTTP/2 and an innocent one behind it on the same connection,
// whose answer, if Envoy goes on, is its own.
func (s *smuggler) attack2(name string, request stream2) {
	client := dialRaw(s.t, s.address)
	defer func() { _ = client.conn.Close() }()
	_ = client.conn.SetDeadline(time.Now().Add(time.Minute))
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	framer, encoder := http2.NewFramer(&out, client.r), hpack.NewEncoder(&block)
	framer.AllowIllegalWrites = true
	headers := func(stream uint32, list []hpack.HeaderField, end bool) {
		block.Reset()
		for _, field := range list {
			_ = encoder.WriteField(field)
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
	}
	_ = framer.WriteSettings()
	headers(1, request.headers, request.body == "" && request.trailers == nil)
	if request.body != "" {
		_ = framer.WriteData(1, request.trailers == nil, []byte(request.body))
	}
	if request.trailers != nil {
		headers(1, request.trailers, true)
	}
	headers(3, pairs2(":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/calm?second"), true)
	_, _ = client.conn.Write(out.Bytes()) // Envoy may close before the end
	if body, answered := readStream(framer, 3); answered && body != calmBody+"?second" {
		s.t.Errorf("%s: the second request is answered with %q", name, body)
	}
}

// readStream returns the body of a stream's answer; answered is false if the stream or the
// connection ends before.
func readStream(framer *http2.Framer, stream uint32) (body string, answered bool) {
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return body, false
		}
		if frame.Header().StreamID != stream {
			continue
		}
		switch f := frame.(type) {
		case *http2.DataFrame:
			if body += string(f.Data()); f.StreamEnded() {
				return body, true
			}
		case *http2.RSTStreamFrame:
			return body, false
		}
	}
}

// TestSmugglingFromHTTP2 sends requests over HTTP/2 which say something else as HTTP/1.1, in
// which Envoy speaks to the backend (RFC 9113, sections 8.2 and 10.3). The backend gets none
// that is ambiguous, and everybody else the answer to their own request.
func TestSmugglingFromHTTP2(t *testing.T) {
	s := startSmuggler(t)
	variants := smugglings2()
	s.attacks(slices.Sorted(maps.Keys(variants)), func(name string) { s.attack2(name, variants[name]) })
}

// smugglings2 are the variants by name.
func smugglings2() map[string]stream2 {
	pseudo := func(pairs ...string) []hpack.HeaderField {
		set := map[string]string{":method": "POST", ":scheme": "http", ":authority": "a", ":path": "/x"}
		for pair := range slices.Chunk(pairs, 2) {
			set[pair[0]] = pair[1]
		}
		return pairs2(":method", set[":method"], ":scheme", set[":scheme"], ":authority", set[":authority"], ":path", set[":path"])
	}
	all := map[string]stream2{"sound": {headers: pseudo(), body: injected}}
	chunked := "0\r\n\r\n" + injected
	for _, pair := range [][2]string{
		{"transfer-encoding", "chunked"}, {"transfer-encoding", "identity"}, {"Transfer-Encoding", "chunked"}, {"transfer_encoding", "chunked"}, {"transfer-encoding ", "chunked"}, {" transfer-encoding", "chunked"}, {"transfer-encoding:", "chunked"}, {"transfer-encoding\x00", "chunked"},
		{"x\r\ntransfer-encoding", "chunked"}, {"x: a\r\ntransfer-encoding", "chunked"}, {"x", "a\r\ntransfer-encoding: chunked"}, {"x", "a\ntransfer-encoding: chunked"}, {"x", "a\rtransfer-encoding: chunked"}, {"x", "a\x00b"}, {"x", " a "}, {"x", "a\r\n\r\n" + injected}, {"x", "a\r\n b"}, {"x\x01", "a"}, {"", "a"}, {"x y", "a"}, {"x\xff", "a"}, {"x", "\xff\x80"}, {"x", "\x7f"},
		{"content-length", "0"}, {"content-length", "5"}, {"content-length", "500"}, {"content-length", "-1"}, {"content-length", "+5"}, {"content-length", "0x2c"}, {"content-length", ""}, {"content-length", "44 "}, {"content-length", "44,44"}, {"content-length", "0, 44"}, {"content-length", "18446744073709551660"}, {"Content-Length", "0"}, {"content_length", "0"}, {"content-length", "44\r\nx: a"},
		{"connection", "close"}, {"connection", "transfer-encoding"}, {"connection", "content-length"}, {"keep-alive", "timeout=5"}, {"proxy-connection", "keep-alive"}, {"upgrade", "h2c"}, {"upgrade", "websocket"}, {"http2-settings", "AAMAAABkAAQAAP__"}, {"te", "chunked"}, {"te", "trailers"}, {"trailer", "content-length"}, {"expect", "100-continue"}, {"expect", "x"},
		{"host", "b"}, {"host", "b\r\nx: a"}, {"host", ""}, {"Host", "b"}, {":path", "/injected"}, {":method", "GET"}, {":authority", "b"}, {":scheme", "https"}, {":status", "200"}, {":x", "a"}, {":protocol", "websocket"}, {"cookie", "a\r\nx: b"}, {"x", strings.Repeat("a", 70_000)},
	} {
		all[fmt.Sprintf("%q: %.40q", pair[0], pair[1])] = stream2{headers: append(pseudo(), pairs2(pair[0], pair[1])...), body: chunked}
		all[fmt.Sprintf("%q: %.40q without a body", pair[0], pair[1])] = stream2{headers: append(pseudo(":method", "GET"), pairs2(pair[0], pair[1])...)}
		all[fmt.Sprintf("trailer %q: %.40q", pair[0], pair[1])] = stream2{headers: append(pseudo(), pairs2("te", "trailers")...), body: chunked, trailers: pairs2(pair[0], pair[1])}
	}
	for _, pair := range [][2]string{
		{":path", "/x y"}, {":path", "/x HTTP/1.1\r\nhost: a\r\n\r\nGET /injected"}, {":path", "/x HTTP/1.1"}, {":path", "/x\r\n"}, {":path", "/x\nb: c"}, {":path", "/x\x00"}, {":path", "/x\t"}, {":path", ""}, {":path", "*"}, {":path", "x"}, {":path", "http://b/x"}, {":path", "//b/x"}, {":path", "/x#/injected"}, {":path", "/x\xff"}, {":path", "/x/../injected"}, {":path", "/x%20HTTP/1.1%0d%0a"}, {":path", "/x" + strings.Repeat("a", 70_000)},
		{":method", "GET /injected HTTP/1.1\r\nhost: a\r\n\r\nGET"}, {":method", "GET /injected"}, {":method", "GET\r\n"}, {":method", ""}, {":method", "post"}, {":method", "CONNECT"}, {":method", "TRACE"}, {":method", "PRI"}, {":method", "HEAD"}, {":method", "A\x00B"},
		{":scheme", "https"}, {":scheme", ""}, {":scheme", "http://b/?"}, {":scheme", "http\r\nx: a"}, {":scheme", "ftp"}, {":authority", ""}, {":authority", "a b"}, {":authority", "a/b"}, {":authority", "a@b"}, {":authority", "a, b"}, {":authority", "a\r\nx: b"}, {":authority", "a\x00"}, {":authority", "b:80"}, {":authority", "a?b#c"},
	} {
		all[fmt.Sprintf("%s %.60q", pair[0], pair[1])] = stream2{headers: pseudo(pair[0], pair[1]), body: injected}
		all[fmt.Sprintf("%s %.60q without a body", pair[0], pair[1])] = stream2{headers: pseudo(pair[0], pair[1])}
	}
	for i, field := range pseudo() {
		all["without "+field.Name] = stream2{headers: slices.Delete(pseudo(), i, i+1), body: injected}
		all["twice "+field.Name] = stream2{headers: slices.Insert(pseudo(), i, field), body: injected}
		all["late "+field.Name] = stream2{headers: append(slices.Delete(pseudo(), i, i+1), pairs2("x", "a", field.Name, field.Value)...), body: injected}
	}
	two := pairs2("content-length", "44", "content-length", "0")
	all["two lengths"] = stream2{headers: append(pseudo(), two...), body: injected}
	all["two hosts"] = stream2{headers: append(pseudo(), pairs2("host", "a", "host", "b")...), body: injected}
	all["a host and no authority"] = stream2{headers: append(slices.Delete(pseudo(), 2, 3), pairs2("host", "a")...), body: injected}
	all["two encodings"] = stream2{headers: append(pseudo(), pairs2("transfer-encoding", "identity", "transfer-encoding", "chunked")...), body: chunked}
	all["a WebSocket"] = stream2{headers: append(pseudo(":method", "CONNECT"), pairs2(":protocol", "websocket", "sec-websocket-version", "13")...), body: injected}
	all["many headers"] = stream2{headers: append(pseudo(), slices.Repeat(pairs2("x", "a"), 1000)...), body: injected}
	return all
}
