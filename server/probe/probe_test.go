package probe

import (
	"net"
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
		if result := expect.Compare(r, []expect.Seen{seen}); !seen.Late || result.Verdict != expect.Failed {
			t.Errorf("%s: %+v: %s", r.Line, seen, result.Verdict)
		}
	}
}
