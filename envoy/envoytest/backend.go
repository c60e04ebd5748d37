package envoytest

import (
	"net"
	"testing"
)

// StartBackend listens on a free port of 127.0.0.1, calls serve for each connection in a goroutine of its own,
// and returns the port. serve must close its connection. The listener closes when the test ends.
func StartBackend(t testing.TB, serve func(net.Conn)) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}
