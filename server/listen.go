package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// listen binds "host:port" or "unix:/path". With localOnly an address that
// others than this host can reach is refused.
func listen(ctx context.Context, address string, localOnly bool) (net.Listener, error) {
	var config net.ListenConfig
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if err := clearSocket(path); err != nil {
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
		l, err := config.Listen(ctx, "unix", path)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
		return l, nil
	}
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if localOnly && !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("listen on %s: %w", address, errNotLocal)
	}
	l, err := config.Listen(ctx, "tcp", resolved.String())
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

var errNotLocal = errors.New("without TLS only a loopback address or unix:/path is served, because whoever connects can read secrets; --xds-insecure allows it all the same")

// clearSocket removes the socket of a server that is gone. One that answers, or
// a file of another kind, stays.
func clearSocket(path string) error {
	if !isSocket(path) {
		return nil // free, or Listen says what is there
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(syscall.EADDRINUSE, conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// isSocket tells whether path is a unix socket.
func isSocket(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}
