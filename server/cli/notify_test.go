package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What systemd hears of gatefold, over a real socket: that it waits, is ready, reloads,
// lives, holds and stops; and nothing of it from another process.
func TestServiceManagerIsTold(t *testing.T) {
	folder := t.TempDir()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(folder, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	heard := make(chan string, 1000)
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := socket.Read(buffer)
			if err != nil {
				close(heard)
				return
			}
			heard <- string(buffer[:n])
		}
	}()
	hear := func(want string) {
		t.Helper()
		for message := range heard {
			if strings.Contains(message, want) {
				return
			}
		}
		t.Fatalf("%q was not heard", want)
	}
	config, admin := filepath.Join(folder, "config"), "unix:"+filepath.Join(folder, "admin")
	var log bytes.Buffer
	gatefold := exec.Command("gatefold", "serve", config, "--xds-address", "unix:"+filepath.Join(folder, "xds"), "--admin-address", admin,
		"--state-dir", filepath.Join(folder, "state"))
	gatefold.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket.LocalAddr().String(), "WATCHDOG_USEC=200000")
	gatefold.Stderr = &log
	if err := gatefold.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = gatefold.Process.Kill() // when the test failed
		if t.Failed() {
			t.Log(log.String())
		}
	})
	hear("STATUS=Waits for the folder")
	hear("WATCHDOG=1")
	if err := os.Mkdir(config, 0o700); err != nil {
		t.Fatal(err)
	}
	hear("READY=1\nSTATUS=Serves")
	if out, err := exec.Command("gatefold", "reload", "--admin-address", admin).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	hear("RELOADING=1")
	hear("READY=1")
	if err := gatefold.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	hear("STOPPING=1")
	if err := gatefold.Wait(); err != nil {
		t.Error(err)
	}
}

// The unit of systemd: what systemd says of it, and how exposed the service is.
func TestSystemdUnit(t *testing.T) {
	const unit = "../../examples/gatefold.service"
	text := read(t, unit)
	for _, setting := range []string{
		"Type=notify", "KillMode=process", "RuntimeDirectoryPreserve=yes", "--envoy-keep", "AmbientCapabilities=CAP_NET_BIND_SERVICE",
	} {
		if !strings.Contains(text, setting) {
			t.Errorf("%s is not in the unit", setting)
		}
	}
	flags := serveCommand().Flags()
	_, command, _ := strings.Cut(text, "\nExecStart=")
	command, _, _ = strings.Cut(command, "\n")
	for _, word := range strings.Fields(command) {
		if name, ok := strings.CutPrefix(word, "--"); ok && flags.Lookup(name) == nil {
			t.Errorf("the unit has --%s, which serve does not know", name)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		fmt.Fprintf(os.Stderr, "\n*** %s: NOT CHECKED BY SYSTEMD, there is no systemd-analyze (Debian: apt-get install systemd)\n\n", t.Name())
		t.Skip("no systemd-analyze")
	}
	// The programs are not where the unit says: any that can be executed will do.
	local := filepath.Join(t.TempDir(), "gatefold.service")
	if err := os.WriteFile(local, []byte(strings.ReplaceAll(text, "/usr/local/bin/gatefold", "/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", local).CombinedOutput(); err != nil || bytes.Contains(out, []byte("gatefold.service:")) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// Out of 100; a unit without any hardening has 96.
	if out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", local).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
