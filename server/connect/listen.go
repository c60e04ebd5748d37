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

// Listen binds "host:port" or "unix:/path". mode is the mode of a unix socket. If localOnly is true, an address
// that other hosts can reach is an error.
func Listen(ctx context.Context, address string, mode fs.FileMode, localOnly bool) (net.Listener, error) {
	l, err := bind(ctx, address, mode, localOnly)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

// bind does the same as Listen, but its errors do not name the address.
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

// errNotLocal is the error for an address that other hosts can reach.
var errNotLocal = errors.New("other hosts can reach it, and whoever connects can read secrets: ask Envoys for certificates by --xds-tls-cert, --xds-tls-key and --xds-tls-client-ca, or take loopback or unix:/path; --xds-insecure allows it all the same")

// listenSocket binds a unix socket with the given mode. On Linux, the file has this mode from the first moment,
// because it gets the mode of the socket. It returns an error if the socket cannot be bound or has no file.
func listenSocket(ctx context.Context, path string, mode fs.FileMode) (net.Listener, error) {
	if !filepath.IsAbs(path) && strings.HasPrefix(path, "@") {
		return nil, errors.New("a socket without a file has no mode: any user of this host could connect")
	}
	if err := clearSocket(path); err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		return socket.Control(func(descriptor uintptr) {
			_ = syscall.Fchmod(int(descriptor), uint32(mode.Perm())) // if this fails, Chmod below sets the mode
		})
	}}
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode.Perm()); err != nil { // the umask may have removed bits
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// clearSocket removes the socket file at path if the server that made the file no longer runs. If there is no file,
// or the path cannot be looked up, it does nothing and returns nil. It returns an error if a server answers on the
// socket, if this cannot be found out, if the file is not a socket, or if the file cannot be removed.
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
