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

// ownSession returns attributes that start a process in its own session. Signals from gatefold's terminal do
// not reach the process, and it does not end with gatefold.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Check returns an error if gatefold cannot run Envoys on this system. On Linux it returns nil.
func Check() error { return nil }

// startTime returns the start time of a process, in ticks since boot. It returns an error if the process has
// ended, also if its parent has not waited for it yet.
func startTime(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program, in parentheses, may contain any character. proc(5) lists the fields after it.
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

// commandLine returns the arguments of a process, with a zero byte before and after each. It returns nil if
// they cannot be read.
func commandLine(pid int) []byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return append([]byte{0}, text...)
}

// bootID returns an ID of the machine's current boot. It returns "" if the ID cannot be read.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // if it cannot be read, it is "" in all run files
	return strings.TrimSpace(string(text))
}

// listens reports whether a TCP socket of this user listens on one of the ports, or a UDP socket of this user is
// bound to one of them.
func listens(ports []uint32) bool {
	return inTables(map[string]string{"tcp": "0A", "tcp6": "0A"}, ports) || listensToDatagrams(ports)
}

// listensToDatagrams reports whether a UDP socket of this user is bound to one of the ports.
func listensToDatagrams(ports []uint32) bool {
	return inTables(map[string]string{"udp": "07", "udp6": "07"}, ports)
}

// inTables reports whether this user has a socket on one of the ports. The keys of tables are files of
// /proc/net; the values are the socket state to look for in that file.
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
