package connect

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// The shares of the descriptors that this process may have (RLIMIT_NOFILE) which
// connections may take. The rest is for the folder, the state and the logs of Envoys.
const (
	xdsShare   = 2 // one in so many
	adminShare = 8
	// maxAdmin bounds the connections to the admin pages, however many descriptors there are.
	maxAdmin = 256
	// fewDescriptors is what is reckoned with where the system does not say.
	fewDescriptors = 1024
)

// refusedLog is the time between two lines about connections that are refused.
const refusedLog = time.Minute

// descriptors returns how many descriptors this process may have.
func descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return fewDescriptors
	}
	return int(min(limit.Cur, 1<<30))
}

// BoundXDS returns a listener for Envoys that takes no more than its share of the descriptors.
func BoundXDS(l net.Listener, log zerolog.Logger) net.Listener {
	return bound(l, log, "xDS", descriptors()/xdsShare)
}

// BoundAdmin returns a listener for the admin pages that takes no more than its share of the descriptors.
func BoundAdmin(l net.Listener, log zerolog.Logger) net.Listener {
	return bound(l, log, "the admin pages", min(descriptors()/adminShare, maxAdmin))
}

func bound(l net.Listener, log zerolog.Logger, name string, limit int) net.Listener {
	limit = max(limit, 1)
	return &bounded{Listener: l, limit: limit, refused: func(peer net.Addr) {
		log.Warn().Str("peer", peer.String()).Int("connections", limit).Int("descriptors", descriptors()).
			Msg("a connection to " + name + " is refused: all connections that the limit of open files (RLIMIT_NOFILE) leaves for it are in use; raise the limit (systemd: LimitNOFILE)")
	}}
}

// bounded is a listener with a limit of connections. Above it the connection that has been
// idle for longest is closed for a new one; where none is idle, the new one is refused.
type bounded struct {
	net.Listener
	limit int
	// refused is told of a connection that is refused, at most once a minute.
	refused func(net.Addr)

	mu    sync.Mutex
	count int
	idle  list.List // of *boundConn, the one that is idle for longest first
	told  time.Time
}

// Accept returns the next connection that the limit allows.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		raw, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &boundConn{Conn: raw, of: b}
		if b.admit(c) {
			return c, nil
		}
		_ = raw.Close() // it was never used
	}
}

// admit makes room for c, and reports whether there is room.
func (b *bounded) admit(c *boundConn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count >= b.limit {
		oldest := b.idle.Front()
		if oldest == nil {
			if now := time.Now(); now.Sub(b.told) >= refusedLog {
				b.told = now
				b.refused(c.RemoteAddr())
			}
			return false
		}
		b.drop(oldest.Value.(*boundConn))
	}
	b.count++
	c.place = b.idle.PushBack(c)
	return true
}

// drop closes a connection; b.mu is held.
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
	_ = c.Conn.Close() // its user sees that it is closed
}

// boundConn is a connection of a bounded listener.
type boundConn struct {
	net.Conn
	of *bounded

	// of.mu guards the rest.
	uses   int
	place  *list.Element // in of.idle; nil while it is used or closed
	closed bool
}

// Close closes the connection.
func (c *boundConn) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.drop(c)
	return nil
}

// use counts what the connection is used for: more is 1 or -1.
func (c *boundConn) use(more int) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.uses += more
	switch {
	case c.closed:
	case c.uses > 0 && c.place != nil:
		c.of.idle.Remove(c.place)
		c.place = nil
	case c.uses == 0 && c.place == nil:
		c.place = c.of.idle.PushBack(c)
	}
}

// namedConn tells a stream which connection it is on.
type namedConn struct {
	credentials.AuthInfo
	conn *boundConn
}

// namedHandshake adds the connection to what the handshake finds.
type namedHandshake struct {
	credentials.TransportCredentials
}

// ServerHandshake does the server's handshake of a connection.
func (h namedHandshake) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := h.TransportCredentials.ServerHandshake(raw)
	if own, ok := raw.(*boundConn); ok && err == nil {
		info = namedConn{info, own}
	}
	return conn, info, err
}

// Clone returns credentials with the same name.
func (h namedHandshake) Clone() credentials.TransportCredentials {
	return namedHandshake{h.TransportCredentials.Clone()}
}

// Occupy keeps the connection of a stream from being closed for others until done is called.
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

// authInfo returns what the handshake found, without the connection.
func authInfo(p *peer.Peer) credentials.AuthInfo {
	if named, ok := p.AuthInfo.(namedConn); ok {
		return named.AuthInfo
	}
	return p.AuthInfo
}

// OccupyForRequest keeps a connection from being closed for others while a request is answered.
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
