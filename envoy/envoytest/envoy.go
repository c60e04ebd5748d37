package envoytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/envoy"
)

// stopGrace is how long an Envoy may need to end after SIGTERM.
const stopGrace = 10 * time.Second

// shownLog is how many of the last lines of Envoy's log a failed test prints.
const shownLog = 60

// Options configure the Envoy to start.
type Options struct {
	// XDSAddress, NodeID and NodeCluster are options of envoy.Bootstrap. The default of NodeID is the name of
	// the test. The default of NodeCluster is "test", which means all Gateways.
	XDSAddress  string
	NodeID      string
	NodeCluster string
	// AdminAddress is an option of envoy.Bootstrap. The default is a free port of 127.0.0.1, and gatefold does
	// not learn that port.
	AdminAddress string
	// Config is a complete configuration that replaces the bootstrap. Its admin address must be on loopback
	// with port 0.
	Config []byte
	// Version is the version of Envoy, see BinaryOf.
	Version string
	// Args are additional arguments, such as "--component-log-level", "upstream:debug".
	Args []string
}

// Envoy is a running Envoy process. It ends when the test ends.
type Envoy struct {
	t       testing.TB
	binary  string
	args    []string
	folder  string
	command *exec.Cmd
	exited  chan struct{} // closed when command has ended
	admin   string
}

// Start starts an Envoy with one worker thread, and returns when its admin interface answers. To wait for its
// configuration, use WaitReady or WaitListener. Without an Envoy binary, the test is skipped or fails (see
// Binary). If the test fails, the end of Envoy's log is printed.
func Start(t testing.TB, options Options) *Envoy {
	t.Helper()
	e := &Envoy{t: t, binary: BinaryOf(t, options.Version), folder: t.TempDir()}
	config := filepath.Join(e.folder, "envoy.yaml")
	if err := os.WriteFile(config, options.config(t), 0o600); err != nil {
		t.Fatal(err)
	}
	e.args = append([]string{
		"--config-path", config,
		"--admin-address-path", e.adminFile(),
		"--concurrency", "1",
		// Hot restart uses shared memory. Without it, any number of Envoys can run at the same time.
		"--disable-hot-restart",
	}, options.Args...)
	t.Cleanup(e.finish)
	e.launch()
	return e
}

// config returns Envoy's configuration file: o.Config, or a bootstrap.
func (o Options) config(t testing.TB) []byte {
	t.Helper()
	if o.Config != nil {
		return o.Config
	}
	if o.NodeID == "" {
		o.NodeID = t.Name()
	}
	if o.NodeCluster == "" {
		o.NodeCluster = "test"
	}
	if o.AdminAddress == "" {
		o.AdminAddress = "127.0.0.1:0"
	}
	config, err := envoy.Bootstrap(envoy.Options{
		XDSAddress:   o.XDSAddress,
		AdminAddress: o.AdminAddress,
		NodeID:       o.NodeID,
		NodeCluster:  o.NodeCluster,
	})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// adminFile returns the path of the file in which Envoy writes its admin address.
func (e *Envoy) adminFile() string { return filepath.Join(e.folder, "admin") }
func (e *Envoy) logFile() string   { return filepath.Join(e.folder, "envoy.log") }

// launch starts the process and waits until its admin interface answers.
func (e *Envoy) launch() {
	e.t.Helper()
	_ = os.Remove(e.adminFile())
	// The log is not written with --log-path, because Envoy flushes that file only after seconds.
	log, err := os.OpenFile(e.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		e.t.Fatal(err)
	}
	defer log.Close()
	e.command = exec.Command(e.binary, e.args...)
	e.command.Stdout, e.command.Stderr = log, log
	e.command.SysProcAttr = dieWithParent()
	if err := e.command.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.exited = make(chan struct{})
	go func(command *exec.Cmd, exited chan struct{}) {
		_ = command.Wait() // Envoy's log shows how it ended
		close(exited)
	}(e.command, e.exited)

	Wait(e.t, "Envoy's admin interface", func() error {
		address, err := os.ReadFile(e.adminFile())
		if err == nil {
			e.admin = string(address)
			_, err = e.get("/server_info")
		}
		return e.alive(err)
	})
}

// ended reports whether the process has ended.
func (e *Envoy) ended() bool {
	select {
	case <-e.exited:
		return true
	default:
		return false
	}
}

// Pid returns the process id. It changes with Restart.
func (e *Envoy) Pid() int { return e.command.Process.Pid }

// AdminAddress returns the address of the admin interface: "ip:port" or the path of a socket. If the configured port
// is 0, Restart changes the port.
func (e *Envoy) AdminAddress() string { return e.admin }

// AdminGet returns the body of the admin page at path, such as "/clusters". The test fails if Envoy does not answer,
// or if the status is not 200.
func (e *Envoy) AdminGet(path string) string {
	e.t.Helper()
	body, err := e.get(path)
	if err != nil {
		e.t.Fatal(err)
	}
	return body
}

// get returns the body of the admin page at path. It returns an error if Envoy does not answer within waitLimit, or if
// the status is not 200. Envoy answers between two updates of its configuration, which a busy machine takes long for.
func (e *Envoy) get(path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return "", err
	}
	request.Close = true // after a restart, Envoy has another port
	response, err := e.client().Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("admin %s: %s: %s", path, response.Status, body)
	}
	return string(body), err
}

// client returns an HTTP client for the admin interface, which is a TCP port or a unix socket.
func (e *Envoy) client() *http.Client {
	network := "tcp"
	if strings.HasPrefix(e.admin, "/") {
		network = "unix"
	}
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, e.admin)
	}}}
}

// ConfigDump returns Envoy's whole configuration as JSON, including endpoints.
func (e *Envoy) ConfigDump() string {
	e.t.Helper()
	return e.AdminGet("/config_dump?include_eds")
}

// Stat returns the value of the counter or gauge with this name, or 0 if Envoy does not have it yet.
func (e *Envoy) Stat(name string) uint64 {
	e.t.Helper()
	var answer struct {
		Stats []struct {
			Name  string `json:"name"`
			Value uint64 `json:"value"`
		} `json:"stats"`
	}
	page := e.AdminGet("/stats?format=json&type=All&filter=" + name)
	// Decoding fails if the page contains only histograms, because their values are objects.
	if err := json.Unmarshal([]byte(page), &answer); err != nil {
		e.t.Fatalf("statistics of %s: %v", name, err)
	}
	for _, stat := range answer.Stats {
		if stat.Name == name {
			return stat.Value
		}
	}
	return 0
}

// WaitReady waits until Envoy has loaded its first clusters and listeners.
func (e *Envoy) WaitReady() {
	e.t.Helper()
	Wait(e.t, "Envoy to be ready", func() error {
		_, err := e.get("/ready")
		return e.alive(err)
	})
}

// WaitListener waits until Envoy accepts connections on the address "ip:port".
func (e *Envoy) WaitListener(address string) {
	e.t.Helper()
	Wait(e.t, "Envoy to listen on "+address, func() error {
		connection, err := net.DialTimeout("tcp", address, requestTimeout)
		if err == nil {
			err = connection.Close()
		}
		return e.alive(err)
	})
}

// alive returns err. It ends the test if Envoy has ended, because further waiting is useless.
func (e *Envoy) alive(err error) error {
	e.t.Helper()
	if e.ended() {
		e.t.Fatalf("Envoy ended: %s", e.command.ProcessState)
	}
	return err
}

// Stop ends Envoy and returns when the process has ended.
func (e *Envoy) Stop() {
	_ = e.command.Process.Signal(syscall.SIGTERM) // the error means that it has ended
	select {
	case <-e.exited:
	case <-time.After(stopGrace):
		_ = e.command.Process.Kill()
		<-e.exited
	}
}

// Restart stops Envoy if it runs, and starts it again with the same configuration file and empty state.
func (e *Envoy) Restart() {
	e.t.Helper()
	e.Stop()
	e.launch()
}

// Log returns everything that Envoy has logged since Start, including access logs to stdout.
func (e *Envoy) Log() string {
	e.t.Helper()
	log, err := os.ReadFile(e.logFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.t.Fatal(err)
	}
	return string(log)
}

// finish stops Envoy at the end of the test. If the test failed, it prints the end of Envoy's log.
func (e *Envoy) finish() {
	if e.exited != nil {
		e.Stop()
	}
	if !e.t.Failed() {
		return
	}
	var shown []string
	for line := range strings.Lines(e.Log()) {
		if !strings.Contains(line, "[info][main]") { // mostly the list of extensions
			shown = append(shown, line)
		}
	}
	shown = shown[max(0, len(shown)-shownLog):]
	e.t.Logf("the end of Envoy's log:\n%s", strings.Join(shown, ""))
}
