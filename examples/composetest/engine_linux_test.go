package composetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// start starts dockerd with all it has in a folder of its own. It touches neither the
// firewall nor the bridges of this machine: containers reach each other and this host,
// and nothing else.
func (e *engine) start() error {
	if os.Geteuid() != 0 {
		return errors.New("none answers, and only root can start one")
	}
	// Not t.TempDir: the path of a socket is at most 107 bytes long.
	folder, err := os.MkdirTemp("", "gatefold-engine-")
	if err != nil {
		return err
	}
	socket := filepath.Join(folder, "s")
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return err
	}
	command := exec.Command("dockerd", "--data-root", filepath.Join(folder, "data"), "--exec-root", filepath.Join(folder, "exec"),
		"--pidfile", filepath.Join(folder, "pid"), "--host", "unix://"+socket,
		"--bridge=none", "--iptables=false", "--ip-masq=false", "--ip-forward=false")
	command.Stdout, command.Stderr = log, log
	// Not with the terminal's Ctrl-C: first the containers end, then the engine. And with
	// this process, should it run into its time limit, which runs no cleanup.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := command.Start(); err != nil {
		_ = os.RemoveAll(folder)
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // its log tells more
	}()
	e.t.Cleanup(func() { e.stop(command, ended, folder) })
	e.own, e.env = true, append(e.env, "DOCKER_HOST=unix://"+socket)
	for limit := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, err = e.try("docker", "version"); err == nil {
			return nil
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("dockerd ended: %s", text[max(0, len(text)-1000):])
		default:
		}
		if time.Now().After(limit) {
			return fmt.Errorf("dockerd does not answer: %w", err)
		}
	}
}

// stop ends the engine that was started, by its process, and removes what it had.
func (e *engine) stop(command *exec.Cmd, ended <-chan struct{}, folder string) {
	_ = command.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		e.t.Error("dockerd does not end")
		_ = command.Process.Kill()
	}
	mounts, _ := os.ReadFile("/proc/mounts")
	for _, mount := range regexp.MustCompile(`(?m)^\S+ (\S+)`).FindAllStringSubmatch(string(mounts), -1) {
		if strings.HasPrefix(mount[1], folder+"/") {
			_ = syscall.Unmount(mount[1], syscall.MNT_DETACH)
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		e.t.Error(err)
	}
}
