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

// orphans returns the processes of this user that were started with a bootstrap of the folder, by
// the path of the bootstrap. Only gatefold writes to the folder, so that all of them are its
// Envoys.
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

// bootstrapOf returns the argument --config-path of a running process, "" for none.
func bootstrapOf(pid int) string {
	if _, err := startTime(pid); err != nil {
		return ""
	}
	path := argument(pid, "--config-path")
	if !strings.HasSuffix(path, ".yaml") {
		return ""
	}
	return filepath.Clean(path)
}

// epochOf returns the base id and the epoch of an Envoy; 0 for one without hot restart.
func epochOf(pid int) (base, epoch int) {
	base, _ = strconv.Atoi(argument(pid, "--base-id")) // missing is 0
	epoch, _ = strconv.Atoi(argument(pid, "--restart-epoch"))
	return base, epoch
}

// argument returns the value of an option in the arguments of a process, "" for none.
func argument(pid int, option string) string {
	args := bytes.Split(commandLine(pid), []byte{0})
	at := slices.IndexFunc(args, func(arg []byte) bool { return string(arg) == option })
	if at < 0 || at+1 >= len(args) {
		return ""
	}
	return string(args[at+1])
}
