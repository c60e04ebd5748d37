package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// orphans returns the processes of this user that were started with a bootstrap of the
// folder, by the path of the bootstrap. gatefold alone writes there, so that all are
// Envoys that a gatefold started.
func orphans(folder string) map[string][]int {
	found := map[string][]int{}
	folder = filepath.Clean(folder)
	entries, _ := os.ReadDir("/proc") // what was read before an error counts
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
			continue
		}
		if path := bootstrapOf(pid); path != "" && filepath.Dir(path) == folder {
			found[path] = append(found[path], pid)
		}
	}
	for _, pids := range found {
		slices.Sort(pids)
	}
	return found
}

// bootstrapOf returns the argument --config-path of a process that runs; "" for none.
func bootstrapOf(pid int) string {
	if _, err := startTime(pid); err != nil {
		return ""
	}
	args := bytes.Split(commandLine(pid), []byte{0})
	at := slices.IndexFunc(args, func(arg []byte) bool { return string(arg) == "--config-path" })
	if at < 0 || at+1 >= len(args) || !strings.HasSuffix(string(args[at+1]), ".yaml") {
		return ""
	}
	return filepath.Clean(string(args[at+1]))
}
