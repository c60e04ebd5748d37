package conformance

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The suite wants ports below 1024 on many addresses. It runs in a network
// namespace of its own, where no process is in the way and, by a user namespace,
// nobody needs to be root. The test binary starts itself once more in there.
const (
	// insideVariable tells the process that it is in the namespace.
	insideVariable = "GATEFOLD_CONFORMANCE_INSIDE"
	// The binaries, made where there is a network to fetch what they need.
	gatefoldVariable = "GATEFOLD_CONFORMANCE_BINARY"
	envoyVariable    = "GATEFOLD_ENVOY"
)

// exitUnusable is how the process in the namespace ends where that is of no use,
// as in sandboxes that give namespaces but no rights in them. go test has 0 to 2.
const exitUnusable = 3

// inside reports whether this process is the one that runs the suite. If not, it
// has run that one, with the same flags, or has said why it cannot.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, "the loopback interface of the namespace:", err)
			os.Exit(exitUnusable)
		}
		return true
	}
	t.Setenv(insideVariable, "1")
	t.Setenv(gatefoldVariable, buildGatefold(t))
	t.Setenv(envoyVariable, getEnvoy(t))
	err := errNoNamespace
	for _, attributes := range namespaces() {
		if err = reenter(attributes); !errors.Is(err, errNoNamespace) {
			break
		}
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.Errorf("the suite ended with: %v", err)
	case err == nil:
	case reachable() == nil: // no namespace, and no need of one
		return true
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		fmt.Fprintf(os.Stderr, "\n*** %s SKIPPED: %v\n\n", t.Name(), err)
		t.Skip(err)
	}
	return false
}

var errNoNamespace = errors.New("ports below 1024 on many loopback addresses: neither a network namespace of its own " +
	"nor the right to bind them here (as root, or by sysctl net.ipv4.ip_unprivileged_port_start=0)")

// namespaces gives the ways to a network namespace, the simplest first.
func namespaces() []*syscall.SysProcAttr {
	user := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if os.Getuid() != 0 {
		return []*syscall.SysProcAttr{user}
	}
	return []*syscall.SysProcAttr{{Cloneflags: syscall.CLONE_NEWNET}, user}
}

// reenter runs this test binary in a namespace.
func reenter(attributes *syscall.SysProcAttr) error {
	command := exec.Command(os.Args[0], innerArgs(os.Args[1:])...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = attributes
	ended, err := startTied(command)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoNamespace, err)
	}
	<-ended
	switch state := command.ProcessState; {
	case state.Success():
		return nil
	case state.ExitCode() == exitUnusable:
		return fmt.Errorf("%w: the namespace has no loopback interface", errNoNamespace)
	default:
		return &exec.ExitError{ProcessState: state}
	}
}

// startTied starts a process that ends, at the latest, with this one; the channel
// is closed when it has, and command.ProcessState tells how. The kernel ends it with
// the thread that started it, so that thread waits for it and does nothing else.
func startTied(command *exec.Cmd) (<-chan struct{}, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // its ProcessState says the same
		}
	}()
	return ended, <-started
}

// innerArgs are the flags of this process, for TestConformance alone. The log
// of files that go test caches results by is this process's.
func innerArgs(args []string) []string {
	var kept []string
	pattern := "^TestConformance$"
	for _, arg := range args {
		if run, ok := strings.CutPrefix(arg, "-test.run="); ok {
			if _, tests, found := strings.Cut(run, "/"); found {
				pattern += "/" + tests
			}
			continue
		}
		if !strings.HasPrefix(arg, "-test.testlogfile=") {
			kept = append(kept, arg)
		}
	}
	return append([]string{"-test.run=" + pattern}, kept...)
}

// reachable tells whether a Gateway could listen on its address here.
func reachable() error {
	listener, err := net.Listen("tcp", firstAddress+":80")
	if err != nil {
		return err
	}
	defer listener.Close()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	return connection.Close()
}

// raiseLoopback brings up the interface lo, which a new namespace has down.
func raiseLoopback() error {
	if reachable() == nil {
		return nil
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

// root is the folder of the repository.
const root = "../.."

// buildGatefold builds the real binary from the sources around this module, where
// go test builds its own: files elsewhere may not be executable.
func buildGatefold(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "gatefold") //nolint:usetesting // that one knows TMPDIR alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // nothing follows from what stays
	binary := filepath.Join(folder, "gatefold")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X github.com/gatefold/gatefold/server/cli.version="+version(t), "-o", binary, ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// getEnvoy gives the path of the Envoy that all tests use. As theirs, this one
// skips without it, loudly, and fails where CI is true.
func getEnvoy(t *testing.T) string {
	t.Helper()
	var stderr strings.Builder
	command := exec.Command(filepath.Join(root, "envoy", "get-envoy"))
	command.Stderr = &stderr
	out, err := command.Output()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("no Envoy to test with: %v: %s", err, &stderr)
	default:
		fmt.Fprintf(os.Stderr, "\n*** %s SKIPPED, no Envoy to test with: %s\n\n", t.Name(), &stderr)
		t.Skip("no Envoy to test with")
	}
	return strings.TrimSpace(string(out))
}
