package differ

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// serveHTTP2 answers the requests of one connection, whose first bytes ask for HTTP/2.
func (r *recorder) serveHTTP2(name string, conn net.Conn, reader *bufio.Reader) {
	if _, err := reader.Discard(len(http2.ClientPreface)); err != nil {
		return
	}
	framer := http2.NewFramer(conn, reader)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.MaxHeaderListSize = 1 << 20
	if err := framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}, http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1}); err != nil {
		return
	}
	for {
		frame, err := framer.ReadFrame()
		if errors.As(err, new(http2.StreamError)) {
			continue
		}
		if err != nil || r.answerHTTP2(name, framer, frame) != nil {
			return
		}
	}
}

// answerHTTP2 notes a request, and answers it at its end.
func (r *recorder) answerHTTP2(name string, framer *http2.Framer, frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return framer.WritePing(true, f.Data)
		}
	case *http2.GoAwayFrame:
		return io.EOF
	case *http2.MetaHeadersFrame:
		r.note(requestOf(name, f))
		if f.StreamEnded() || f.PseudoValue("protocol") != "" { // a WebSocket has no end (RFC 8441)
			return writeAnswer(framer, name, f.StreamID)
		}
	case *http2.DataFrame:
		if f.StreamEnded() {
			return writeAnswer(framer, name, f.StreamID)
		}
		if n := uint32(len(f.Data())); n > 0 {
			return errors.Join(framer.WriteWindowUpdate(0, n), framer.WriteWindowUpdate(f.StreamID, n))
		}
	}
	return nil
}

func requestOf(name string, f *http2.MetaHeadersFrame) *received {
	out := &received{Backend: name, Method: f.PseudoValue("method"), Target: f.PseudoValue("path"), Host: f.PseudoValue("authority")}
	for _, field := range f.RegularFields() {
		out.Headers = append(out.Headers, header{field.Name, field.Value})
	}
	return out
}

func writeAnswer(framer *http2.Framer, name string, stream uint32) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(statusOf(name))}, {Name: backendHeader, Value: name}} {
		if err := encoder.WriteField(field); err != nil {
			return err
		}
	}
	return framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
}
