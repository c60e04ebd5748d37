package probe

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gatefold/gatefold/translate/expect"
)

// A server that takes a connection and never answers has not closed it.
func TestNoAnswerInTimeIsNoClosedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	client := Client{Timeout: 50 * time.Millisecond, Address: func(expect.Request) (string, error) { return listener.Addr().String(), nil }}
	requests, problems := expect.Parse("requests", []byte("GET http://a/ -> closed\nGET http://a/ HTTP2:on -> closed\nGET https://a/ -> closed\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, r := range requests {
		seen := client.Send(t.Context(), r)
		if result := expect.NewObserver(nil).Compare(r, []expect.Seen{seen}); !seen.Late || result.Verdict != expect.Failed {
			t.Errorf("%s: %+v: %s", r.Line, seen, result.Verdict)
		}
	}
}

// A server that never ends its headers is not read for ever.
func TestEndlessHeadersAreNotRead(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, err = conn.Write([]byte("HTTP/1.1 200 OK\r\n"))
		for i := 0; err == nil && i < 64*maxRead>>10; i++ {
			_, err = conn.Write([]byte("A: " + strings.Repeat("x", 1<<10) + "\r\n"))
		}
		_, _ = conn.Write([]byte("\r\n"))
	}()
	client := Client{Timeout: time.Minute, Address: func(expect.Request) (string, error) { return listener.Addr().String(), nil }}
	requests, _ := expect.Parse("requests", []byte("GET http://a/ -> 200\n"))
	if seen := client.Send(t.Context(), requests[0]); seen.Status != 0 || seen.Closed == "" {
		t.Errorf("status %d, closed %q", seen.Status, seen.Closed)
	}
}
