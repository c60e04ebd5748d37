package connect

import (
	"net"
	"sync/atomic"
	"testing"
)

// Above the limit the connection that is idle for longest gives way to a new one. One that is
// used never does: where all are, the new one is refused, and the log is told once.
func TestUsedConnectionsStay(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Int32
	b := &bounded{Listener: inner, limit: 2, refused: func(net.Addr) { told.Add(1) }}
	defer b.Close()
	accepted := make(chan net.Conn)
	go func() {
		for {
			conn, err := b.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	wantClosed := func(conn net.Conn) {
		t.Helper()
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes are read, want the end", n)
		}
	}
	first := dial()
	(<-accepted).(*boundConn).use(1)
	idle := dial()
	<-accepted
	second := dial()
	(<-accepted).(*boundConn).use(1)
	wantClosed(idle)
	for range 3 {
		wantClosed(dial())
	}
	if n := told.Load(); n != 1 {
		t.Errorf("the log is told %d times, want once", n)
	}
	for _, conn := range []net.Conn{first, second} {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Errorf("a connection that is used was closed: %v", err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count != 2 || b.idle.Len() != 0 {
		t.Errorf("%d connections, %d idle", b.count, b.idle.Len())
	}
}
