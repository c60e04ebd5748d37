package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ownSession keeps an Envoy from the signals of gatefold's terminal and from its end.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Check tells why Envoys cannot be run on this system.
func Check() error { return nil }

// startTime is when a process began, in ticks since boot. One that has ended and is not
// waited for yet is gone.
func startTime(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may hold anything; see proc(5) for the fields after it.
	const state, begin = 0, 19
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= begin {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return 0, errors.New("it has ended")
	}
	return strconv.ParseUint(fields[begin], 10, 64)
}

// commandLine returns the arguments of a process, each after a zero byte and before one.
func commandLine(pid int) []byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return append([]byte{0}, text...)
}

// bootID names this run of the machine.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // unreadable is the same for all
	return strings.TrimSpace(string(text))
}

// listens reports whether a socket of this user takes connections or datagrams on one of the ports.
func listens(ports []uint32) bool {
	const address, state, user, fewest = 1, 3, 7, 8
	for table, wanted := range map[string]string{"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"} {
		text, _ := os.ReadFile("/proc/net/" + table) // a machine may have no IPv6
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < fewest || fields[state] != wanted || fields[user] != strconv.Itoa(os.Geteuid()) {
				continue
			}
			_, hex, _ := strings.Cut(fields[address], ":")
			if port, err := strconv.ParseUint(hex, 16, 32); err == nil && slices.Contains(ports, uint32(port)) {
				return true
			}
		}
	}
	return false
}
