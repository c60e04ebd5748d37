package envoytest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestLoadCountsWhatItSends(t *testing.T) {
	backend := Echo(t, "a", "")
	_, address := startStatic(t, backend)

	result := StartLoad(t, LoadOptions{
		Targets: []Target{
			{Name: "echo", Request: Request{Address: address, Path: "/x"}, Check: wantBackend("a")},
			{Name: "direct", Request: Request{Address: address, Path: "/direct"}, Check: wantStatus(418)},
		},
		Requests: 1000,
	}).Wait()
	t.Log(result)
	want := Result{Requests: 1000, Fresh: 250}
	if result.Requests != want.Requests || result.Failed != 0 || result.Fresh != want.Fresh || result.Resent != 0 {
		t.Errorf("got %v; want %v", result, want)
	}
	if got, want := fmt.Sprint(result.Targets), "map[direct:{500 0} echo:{500 0}]"; got != want {
		t.Errorf("by target %s, want %s", got, want)
	}
	if got := backend.Requests(); got != 500 {
		t.Errorf("the backend counted %d requests, want 500", got)
	}
}

func TestLoadKeepsConnectionsAlive(t *testing.T) {
	e, address := startStatic(t, Echo(t, "a", ""))
	before := e.Stat("listener." + strings.ReplaceAll(address, ":", "_") + ".downstream_cx_total")
	StartLoad(t, LoadOptions{
		Targets:    []Target{{Name: "echo", Request: Request{Address: address}}},
		Requests:   1000,
		FreshEvery: 10,
	}).Wait()
	Wait(t, "the connections in the statistics", func() error {
		// 100 fresh ones, one for each worker at most, and that of WaitListener.
		count := e.Stat("listener."+strings.ReplaceAll(address, ":", "_")+".downstream_cx_total") - before
		if count < 101 || count > 101+workers {
			return fmt.Errorf("%d connections", count)
		}
		return nil
	})
}

func TestLoadTellsOfFailures(t *testing.T) {
	_, address := startStatic(t, Echo(t, "a", ""))
	var good atomic.Bool
	result := StartLoad(t, LoadOptions{
		Targets: []Target{
			{Name: "status", Request: Request{Address: address, Path: "/direct"}},
			{Name: "check", Request: Request{Address: address}, Check: func(*Response) error {
				if good.Swap(true) {
					return nil
				}
				return errors.New("only the first is wrong")
			}},
			{Name: "refused", Request: Request{Address: fmt.Sprintf("127.0.0.1:%d", FreePort(t))}},
		},
		Requests: 300,
	}).Wait()
	if got, want := fmt.Sprint(result.Targets), "map[check:{100 1} refused:{100 100} status:{100 100}]"; got != want {
		t.Errorf("by target %s, want %s", got, want)
	}
	if result.Failed != 201 || len(result.Failures) != keptFailures {
		t.Errorf("%d failed, %d of them told; want 201 and %d", result.Failed, len(result.Failures), keptFailures)
	}
	for _, part := range []string{"201 failed", "status 418", "only the first", "connection refused"} {
		if !strings.Contains(result.String(), part) {
			t.Errorf("the result does not tell %q:\n%v", part, result)
		}
	}
}

func TestLoadStops(t *testing.T) {
	_, address := startStatic(t, Echo(t, "a", ""))
	load := StartLoad(t, LoadOptions{Targets: []Target{{Name: "echo", Request: Request{Address: address}}}})
	Wait(t, "100 requests", func() error {
		if got := load.Result().Requests; got < 100 {
			return fmt.Errorf("%d requests", got)
		}
		return nil
	})
	result := load.Stop()
	if result.Failed != 0 {
		t.Error(result)
	}
	if again := load.Stop(); again.Requests != result.Requests {
		t.Errorf("%d requests, then %d after the stop", result.Requests, again.Requests)
	}

	load = StartLoad(t, LoadOptions{Targets: load.options.Targets})
	if result := load.StopAfter(200); result.Requests < 200 || result.Failed != 0 {
		t.Error(result)
	}
	few := LoadOptions{Targets: load.options.Targets, Requests: 10}
	if got := StartLoad(t, few).StopAfter(20).Requests; got != 10 {
		t.Errorf("%d requests of a load of 10", got)
	}

	// Without the duration this would take 1,000 seconds.
	short := LoadOptions{Targets: load.options.Targets, Duration: 50 * time.Millisecond}
	if got := StartLoad(t, short).Wait().Requests; got >= 1_000_000 {
		t.Errorf("%d requests: the duration was ignored", got)
	}
}

// A server may close a kept-alive connection at any time; no client calls that
// a failed request, unless a part of the response had come.
func TestLoadSendsAgainWhatAnIdleConnectionLost(t *testing.T) {
	const empty = "200 OK\r\nContent-Length: 0\r\n"
	for _, test := range []struct {
		name, first, second string // the responses on each connection
		resent, failed      int    // of six requests
	}{
		{"closed when idle", "HTTP/1.1 " + empty + "\r\n", "", 5, 0},
		{"closed amid a response", "HTTP/1.1 " + empty + "\r\n", "HTTP/1.1 200", 0, 3},
		{"closed as announced", "HTTP/1.1 " + empty + "Connection: close\r\n\r\n", "HTTP/1.1 500", 0, 0},
		{"closed when new", "", "", 0, 6},
	} {
		request := Request{Address: serveTwice(t, test.first, test.second)}
		load := &Load{
			options: LoadOptions{Targets: []Target{{Request: request}}, FreshEvery: 100},
			encoded: [][]byte{request.encode()},
			started: time.Now(),
			result:  Result{Targets: map[string]Count{}},
		}
		w := worker{load: load, client: NewClient()}
		defer w.client.Close()
		for number := range 6 {
			w.send(number + 1) // request 0 is a fresh one
		}
		if result := load.Result(); result.Resent != test.resent || result.Failed != test.failed {
			t.Errorf("%s: %v; want %d sent again, %d failed", test.name, result, test.resent, test.failed)
		}
	}
}

// serveTwice answers the first request of each connection by first, the second
// by second, and closes it then; an empty answer closes it at once.
func serveTwice(t *testing.T, first, second string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				request := make([]byte, 4096)
				for _, answer := range []string{first, second} {
					if _, err := c.Read(request); err != nil {
						return
					}
					if _, err := io.WriteString(c, answer); err != nil || answer == "" {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func wantBackend(name string) func(*Response) error {
	return func(r *Response) error {
		if r.Backend != name {
			return fmt.Errorf("status %d from %q, want %s", r.Status, r.Backend, name)
		}
		return nil
	}
}

func wantStatus(status int) func(*Response) error {
	return func(r *Response) error {
		if r.Status != status {
			return fmt.Errorf("status %d, want %d", r.Status, status)
		}
		return nil
	}
}

// BenchmarkLoad tells what one request costs the process that sends it and
// answers it, without an Envoy between.
func BenchmarkLoad(b *testing.B) {
	backend := Echo(b, "a", "")
	result := StartLoad(b, LoadOptions{
		Targets:  []Target{{Name: "echo", Request: Request{Address: backend.Address()}}},
		Rate:     1_000_000,
		Requests: b.N,
	}).Wait()
	if result.Failed != 0 {
		b.Fatal(result)
	}
}
