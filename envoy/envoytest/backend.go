package envoytest

import (
	"net"
	"testing"
)

// StartBackend has serve take each connection to a free port of loopback, and returns the
// port. It takes no more at the end of the test; serve closes its connection.
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
