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

// ownSession starts an Envoy in its own session, so that signals from gatefold's terminal, and
// gatefold's end, do not reach it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Check returns why Envoys cannot be run on this system, nil if they can.
func Check() error { return nil }

// startTime returns when a process began, in ticks since boot. It returns an error for a process
// that has ended, even if its parent has not waited for it yet.
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

// commandLine returns the arguments of a process. A zero byte precedes and follows each argument.
func commandLine(pid int) []byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return append([]byte{0}, text...)
}

// bootID returns an ID of the machine's current boot.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // unreadable is the same for all
	return strings.TrimSpace(string(text))
}

// listens reports whether a socket of this user listens on one of the ports.
func listens(ports []uint32) bool {
	return inTables(map[string]string{"tcp": "0A", "tcp6": "0A"}, ports) || listensToDatagrams(ports)
}

// listensToDatagrams reports the same of datagrams alone.
func listensToDatagrams(ports []uint32) bool {
	return inTables(map[string]string{"udp": "07", "udp6": "07"}, ports)
}

// inTables reports whether one of the tables of sockets has one of this user on a port, in the state
// that belongs to the table.
func inTables(tables map[string]string, ports []uint32) bool {
	const address, state, user, fewest = 1, 3, 7, 8
	for table, wanted := range tables {
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
