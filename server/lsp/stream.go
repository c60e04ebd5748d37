package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// maxMessage and maxHeader are the highest size of a message and of a header line, in bytes. maxMessage is
// enough for the largest file that gatefold reads, even if JSON escapes all of it.
const (
	maxMessage = 128 << 20
	maxHeader  = 4 << 10
)

// stream reads and writes messages of LSP: a header Content-Length and a JSON text. It answers an invalid or
// too large message with an error and reads the next message.
type stream struct {
	in      *bufio.Reader
	closer  io.Closer
	writing sync.Mutex
	out     io.Writer
}

// newStream returns a stream. Closing the stream closes the input.
func newStream(in io.ReadCloser, out io.Writer) *stream {
	return &stream{in: bufio.NewReaderSize(in, maxHeader), closer: in, out: out}
}

// ReadObject reads the next message into v (jsonrpc2.ObjectStream). An error means that no further message can
// be read.
func (s *stream) ReadObject(v any) error {
	for {
		length, err := s.readHeader()
		if err != nil {
			return err
		}
		if length > maxMessage {
			if _, err := io.CopyN(io.Discard, s.in, length); err != nil {
				return err
			}
			if err := s.complain(jsonrpc2.CodeInvalidRequest, fmt.Sprintf("a message of %d bytes; at most %d are read", length, maxMessage)); err != nil {
				return err
			}
			continue
		}
		body, err := io.ReadAll(io.LimitReader(s.in, length)) // memory is reserved only as data arrives
		if err != nil {
			return err
		}
		if int64(len(body)) < length {
			return io.ErrUnexpectedEOF
		}
		if !json.Valid(body) {
			err = s.complain(jsonrpc2.CodeParseError, "the message is not JSON")
		} else if json.Unmarshal(body, v) == nil {
			return nil
		} else {
			err = s.complain(jsonrpc2.CodeInvalidRequest, "the message is not a request, a notification or a response of JSON-RPC 2.0")
		}
		if err != nil {
			return err
		}
	}
}

// complain sends an error response without an id, because the id of the request cannot be read.
func (s *stream) complain(code int64, why string) error {
	return s.WriteObject(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": why}})
}

// readHeader reads the header of a message and returns Content-Length. It skips other header lines. The error
// means that the input has ended, or that the header is invalid or too long.
func (s *stream) readHeader() (length int64, err error) {
	length = -1
	for {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			return 0, err // bufio.ErrBufferFull if the line is too long
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" && length >= 0 {
			return length, nil
		}
		name, value, _ := strings.Cut(text, ":")
		if !strings.EqualFold(name, "Content-Length") {
			continue
		}
		if length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil || length < 0 {
			return 0, errors.New("a Content-Length that is no number")
		}
	}
}

// WriteObject writes v as a message (jsonrpc2.ObjectStream). It returns an error if v cannot be encoded as JSON, or
// if the output cannot be written.
func (s *stream) WriteObject(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.out.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(text)), text...))
	return err
}

// Close closes the input (jsonrpc2.ObjectStream).
func (s *stream) Close() error { return s.closer.Close() }
