package connect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Listen binds "host:port" or "unix:/path". With localOnly an address that
// others than this host can reach is refused.
func Listen(ctx context.Context, address string, mode fs.FileMode, localOnly bool) (net.Listener, error) {
	l, err := bind(ctx, address, mode, localOnly)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

func bind(ctx context.Context, address string, mode fs.FileMode, localOnly bool) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenSocket(ctx, path, mode)
	}
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if localOnly && !resolved.IP.IsLoopback() {
		return nil, errNotLocal
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", resolved.String())
}

var errNotLocal = errors.New("other hosts can reach it, and whoever connects can read secrets: ask Envoys for certificates by --xds-tls-cert, --xds-tls-key and --xds-tls-client-ca, or take loopback or unix:/path; --xds-insecure allows it all the same")

// listenSocket binds a unix socket that only mode lets connect, from its first
// moment on: where the system takes the mode of a socket over to its file, as
// Linux does, it is never wider.
func listenSocket(ctx context.Context, path string, mode fs.FileMode) (net.Listener, error) {
	if !filepath.IsAbs(path) && strings.HasPrefix(path, "@") {
		return nil, errors.New("a socket without a file has no mode: any user of this host could connect")
	}
	if err := clearSocket(path); err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		return socket.Control(func(descriptor uintptr) {
			_ = syscall.Fchmod(int(descriptor), uint32(mode.Perm())) // else Chmod below does it
		})
	}}
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode.Perm()); err != nil { // what the umask took away
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// clearSocket removes the socket of a server that is gone. One that answers, or
// a file of another kind, stays.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil //nolint:nilerr // free, or Listen says what is wrong
	case info.Mode()&os.ModeSocket == 0:
		return errors.New("there is a file that is not a socket")
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
