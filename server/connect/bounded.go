package connect

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/gatefold/gatefold/server/admin"
)

// The shares of this process's file descriptors (RLIMIT_NOFILE) that connections may use. The rest is for the
// folder, the state and the logs of Envoys.
const (
	xdsShare = 2 // connections of Envoys may use half of the descriptors
	// adminShare is for connections to the admin pages, which may use an eighth of the descriptors.
	adminShare = 8
	// maxAdmin bounds the connections to the admin pages, however many descriptors there are.
	maxAdmin = 256
	// fewDescriptors is the assumed number of descriptors if the system does not report a limit.
	fewDescriptors = 1024
)

// refusedLog is the least time between two log lines about refused connections.
const refusedLog = time.Minute

// descriptors returns how many file descriptors this process may have. It returns fewDescriptors if the system
// does not report a limit.
func descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return fewDescriptors
	}
	return int(min(limit.Cur, 1<<30))
}

// BoundXDS returns a listener for Envoys. It accepts no more connections than xdsShare allows.
// Connections that it closes are added to the parameter refused.
func BoundXDS(l net.Listener, log zerolog.Logger, refused *Refusals) net.Listener {
	b := bound(l, log, "xDS", descriptors()/xdsShare)
	b.refusals = refused
	return b
}

// BoundAdmin returns a listener for the admin pages. It accepts no more connections than adminShare and
// maxAdmin allow.
func BoundAdmin(l net.Listener, log zerolog.Logger) net.Listener {
	return bound(l, log, "the admin pages", min(descriptors()/adminShare, maxAdmin))
}

// bound returns a listener that accepts connections from l. The parameter limit is how many connections may be open
// at a time; less than 1 means 1. The parameter name is the name of the listener in log lines.
func bound(l net.Listener, log zerolog.Logger, name string, limit int) *bounded {
	limit = max(limit, 1)
	return &bounded{Listener: l, limit: limit, refused: func(peer net.Addr) {
		log.Warn().Str("peer", peer.String()).Int("connections", limit).Int("descriptors", descriptors()).
			Msg("a connection to " + name + " is refused: all connections that the limit of open files (RLIMIT_NOFILE) leaves for it are in use; raise the limit (systemd: LimitNOFILE)")
	}}
}

// bounded is a listener with a limit of connections. At the limit, it closes the connection that has been idle
// for the longest time, to accept a new one. If no connection is idle, it closes the new one.
type bounded struct {
	net.Listener
	limit int
	// refused is called with the address of a refused connection, at most once in refusedLog.
	refused func(net.Addr)
	// refusals lists the connections that are closed; nil for the admin pages.
	refusals *Refusals
	stopping atomic.Bool // the listener is closed, and so are its connections

	mu    sync.Mutex
	count int
	idle  list.List // of *boundConn, the one that is idle for the longest time first
	// told is when refused was called last.
	told time.Time
}

// Accept returns the next connection that the limit allows. The error is that of the underlying listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		raw, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &boundConn{Conn: raw, of: b}
		admitted, dropped := b.admit(c)
		switch {
		case dropped != nil:
			b.tell("connections", dropped, "it was idle for the longest time, and the limit of open files (RLIMIT_NOFILE) leaves no other connection")
		case !admitted && b.refusals != nil:
			b.refusals.count("connections") // b.refused logs it
		}
		if admitted {
			return c, nil
		}
		_ = raw.Close() // it was never used
	}
}

// Close closes the listener.
func (b *bounded) Close() error {
	b.stopping.Store(true)
	return b.Listener.Close()
}

// tell adds a connection to the list of refused clients.
func (b *bounded) tell(cause string, c *boundConn, reason string) {
	if b.refusals != nil {
		b.refusals.Refuse(cause, admin.RejectedClient{Peer: HostOf(c.RemoteAddr()), Reason: reason})
	}
}

// admit decides whether the new connection c is accepted, and counts it if so. At the limit, admit closes the
// connection that has been idle for the longest time, to make room for c. If no connection is idle, admit returns
// false. Before it returns false, it calls b.refused, unless b.refused was called less than refusedLog ago. The
// result dropped is the connection that admit closed, or nil.
func (b *bounded) admit(c *boundConn) (admitted bool, dropped *boundConn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count >= b.limit {
		oldest := b.idle.Front()
		if oldest == nil {
			if now := time.Now(); now.Sub(b.told) >= refusedLog {
				b.told = now
				b.refused(c.RemoteAddr())
			}
			return false, nil
		}
		dropped = oldest.Value.(*boundConn)
		b.drop(dropped)
	}
	b.count++
	c.place = b.idle.PushBack(c)
	return true, dropped
}

// drop closes a connection and no longer counts it. If the connection is already closed, drop does nothing. The
// caller has locked b.mu.
func (b *bounded) drop(c *boundConn) {
	if c.closed {
		return
	}
	c.closed = true
	b.count--
	if c.place != nil {
		b.idle.Remove(c.place)
		c.place = nil
	}
	_ = c.Conn.Close() // the user of the connection gets an error
}

// boundConn is a connection of a bounded listener.
type boundConn struct {
	net.Conn
	of *bounded

	// These fields are guarded by of.mu. uses counts the streams or requests on the connection.
	uses   int
	place  *list.Element // its element in of.idle; nil while it is used or closed
	closed bool
	used   bool // there was a stream or request

	// excused is true while Close does not report the connection: the client ended it, or its handshake is not done.
	// A handshake that fails is reported by the credentials, except one that takes too long.
	excused atomic.Bool
}

// Read reads from the connection, and notes whether the client ended it.
func (c *boundConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if err != nil {
		c.excused.Store(!errors.Is(err, os.ErrDeadlineExceeded))
	}
	return n, err
}

// Close closes the connection, and returns nil. It may be called more than once. If the server ends a connection on
// which nothing was asked for, Close adds the connection to the list of refused clients.
func (c *boundConn) Close() error {
	excused := c.excused.Load() // before shut: a Read that goes on fails after it
	if c.shut() && !excused && !c.of.stopping.Load() {
		c.of.tell("silent", c, "it asked for nothing in time")
	}
	return nil
}

// shut closes the connection. It reports whether the connection was open and never used.
func (c *boundConn) shut() (silent bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	silent = !c.closed && !c.used
	c.of.drop(c)
	return silent
}

// use records that a stream or request on the connection begins (the parameter more is 1) or ends (it is -1). The
// connection is idle while no stream or request uses it.
func (c *boundConn) use(more int) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.uses += more
	c.used = true
	switch {
	case c.closed:
	case c.uses > 0 && c.place != nil:
		c.of.idle.Remove(c.place)
		c.place = nil
	case c.uses == 0 && c.place == nil:
		c.place = c.of.idle.PushBack(c)
	}
}

// namedConn is the result of a TLS handshake, together with the connection of that handshake. gRPC passes the
// result to each stream, so that Occupy can find the connection of a stream.
type namedConn struct {
	credentials.AuthInfo
	conn *boundConn
}

// namedHandshake wraps gRPC credentials. If a handshake is on a boundConn, it returns a namedConn as the
// credentials.AuthInfo. So the AuthInfo leads to the connection.
type namedHandshake struct {
	credentials.TransportCredentials
}

// ServerHandshake does the server's handshake on a connection. The error is that of the wrapped credentials.
func (h namedHandshake) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	own, ok := raw.(*boundConn)
	if !ok {
		return h.TransportCredentials.ServerHandshake(raw)
	}
	own.excused.Store(true)
	conn, info, err := h.TransportCredentials.ServerHandshake(raw)
	if err == nil {
		own.excused.Store(false)
		info = namedConn{info, own}
	}
	return conn, info, err
}

// Clone returns a copy of the credentials.
func (h namedHandshake) Clone() credentials.TransportCredentials {
	return namedHandshake{h.TransportCredentials.Clone()}
}

// Occupy marks the connection of a stream as used until the caller calls done. A bounded listener at its limit
// does not close a used connection. The parameter ctx is the context of the stream; if the stream is not on a
// bounded listener, Occupy does nothing.
func Occupy(ctx context.Context) (done func()) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return func() {}
	}
	named, ok := p.AuthInfo.(namedConn)
	if !ok {
		return func() {}
	}
	named.conn.use(1)
	return func() { named.conn.use(-1) }
}

// authInfo returns the AuthInfo of the client's TLS handshake as gRPC made it. If namedHandshake wrapped the AuthInfo
// in a namedConn, authInfo removes the wrapper.
func authInfo(p *peer.Peer) credentials.AuthInfo {
	if named, ok := p.AuthInfo.(namedConn); ok {
		return named.AuthInfo
	}
	return p.AuthInfo
}

// OccupyForRequest marks a connection as used while a request on the connection is answered. A bounded listener
// at its limit does not close a used connection. OccupyForRequest is meant for http.Server.ConnState.
func OccupyForRequest(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*boundConn)
	if !ok {
		return
	}
	switch state {
	case http.StateActive:
		c.use(1)
	case http.StateIdle:
		c.use(-1)
	case http.StateNew, http.StateHijacked, http.StateClosed:
	}
}
