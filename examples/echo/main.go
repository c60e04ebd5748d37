// Command echo runs backends for the examples. Each backend answers every request with a JSON description of
// the request.
//
//	echo echo-a=127.0.0.1:9001 echo-b=127.0.0.1:9002
//	echo --name echo-a --address 127.0.0.1:9001
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gatefold/gatefold/examples/echo/handler"
)

// grace is how long open requests have to end after a signal.
const grace = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the backends until ctx ends, and returns the exit code. The code is 0 on success, 1 if a backend
// cannot serve, and 2 if args are wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	backends, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "echo:", err)
		return 2
	}
	if err := serve(ctx, backends, stdout); err != nil {
		fmt.Fprintln(stderr, "echo:", err)
		return 1
	}
	return 0
}

// backend has the name of a backend and the address that it listens on.
type backend struct{ name, address string }

// parse returns the backends that args name. It prints the usage to stderr for --help, and then returns
// flag.ErrHelp. Other errors mean that args are invalid or name no backend.
func parse(args []string, stderr io.Writer) ([]backend, error) {
	flags := flag.NewFlagSet("echo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	name := flags.String("name", "echo", "`name` of the backend at --address")
	address := flags.String("address", "", "`host:port` to listen on")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stderr, "usage: echo [--name NAME --address HOST:PORT] [NAME=HOST:PORT ...]")
	}
	if err != nil {
		return nil, err
	}
	var backends []backend
	if *address != "" {
		backends = append(backends, backend{*name, *address})
	}
	for _, pair := range flags.Args() {
		name, address, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("%q is not NAME=HOST:PORT", pair)
		}
		backends = append(backends, backend{name, address})
	}
	if len(backends) == 0 {
		return nil, errors.New("no backend given, such as echo-a=127.0.0.1:9001")
	}
	return backends, nil
}

// serve runs all backends on TCP and UDP, until ctx ends or one of them fails. It returns nil if ctx ended.
func serve(ctx context.Context, backends []backend, stdout io.Writer) error {
	failed := make(chan error, len(backends))
	for _, b := range backends {
		listener, err := net.Listen("tcp", b.address)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler.Echo(b.name), ReadHeaderTimeout: 10 * time.Second}
		go func() { failed <- server.Serve(listener) }()
		defer shutDown(server)
		socket, err := net.ListenPacket("udp", listener.Addr().String())
		if err != nil {
			return err
		}
		go answerDatagrams(socket, b.name)
		defer func() { _ = socket.Close() }() // it only receives
		fmt.Fprintf(stdout, "echo: %s listens on %s\n", b.name, listener.Addr())
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// answerDatagrams answers each datagram with the name of the backend, until the socket is closed.
func answerDatagrams(socket net.PacketConn, name string) {
	buffer := make([]byte, 1500)
	for {
		_, from, err := socket.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = socket.WriteTo([]byte(name+"\n"), from)
	}
}

// shutDown stops a server. Open requests have the time grace to end.
func shutDown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}
