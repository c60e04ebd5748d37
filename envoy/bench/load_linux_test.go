package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// connections is how many requests are on their way at once.
const connections = 4

// load sends one request over and over on kept-alive connections, each as soon as the
// answer to the one before is there.
type load struct {
	address string
	request []byte
	status  string // wanted, "200"
}

func newLoad(address, path, headers, status string) load {
	return load{address, fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench.example.com\r\n%s\r\n", path, headers), status}
}

// run sends for a while and returns how many requests were answered.
func (l load) run(t testing.TB, lasts time.Duration) int {
	t.Helper()
	var mu sync.Mutex
	var failed error
	sum := 0
	var senders sync.WaitGroup
	for range connections {
		senders.Go(func() {
			sent, err := l.send(time.Now().Add(lasts))
			mu.Lock()
			defer mu.Unlock()
			sum += sent
			if err != nil {
				failed = err
			}
		})
	}
	senders.Wait()
	if failed != nil {
		t.Fatalf("%s %q: %v", l.address, l.request, failed)
	}
	return sum
}

func (l load) send(until time.Time) (sent int, err error) {
	connection, err := net.Dial("tcp", l.address)
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	reader := bufio.NewReader(connection)
	for time.Now().Before(until) {
		if _, err := connection.Write(l.request); err != nil {
			return sent, err
		}
		if err := l.answer(reader); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// answer reads one response. net/http does more than is needed here, on the core that
// Envoy's neighbours need.
func (l load) answer(reader *bufio.Reader) error {
	first, err := reader.ReadSlice('\n')
	if err != nil {
		return err
	}
	if status := bytes.Fields(first); len(status) < 2 || string(status[1]) != l.status {
		return fmt.Errorf("answered %q, want %s", first, l.status)
	}
	length := 0
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			_, err := reader.Discard(length)
			return err
		}
		if value, ok := bytes.CutPrefix(line, []byte("content-length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
}
