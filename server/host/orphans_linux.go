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

// orphans returns the pids of processes of this user that were started with a bootstrap file in the folder. The
// key is the path of that file. Only gatefold writes to the folder, so that all these processes are its Envoys.
func orphans(folder string) map[string][]int {
	found := map[string][]int{}
	folder = filepath.Clean(folder)
	entries, _ := os.ReadDir("/proc") // the entries before an error are still used
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

// bootstrapOf returns the value after --config-path of a running process, as a clean path. It returns "" if the
// process has ended, or has no such option, or if the value does not end in .yaml.
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

// epochOf returns the base id and the restart epoch of an Envoy. Both are 0 for an Envoy without hot restart.
func epochOf(pid int) (base, epoch int) {
	base, _ = strconv.Atoi(argument(pid, "--base-id")) // a missing option is 0
	epoch, _ = strconv.Atoi(argument(pid, "--restart-epoch"))
	return base, epoch
}

// argument returns the value of an option on the command line of a process, or "" if the option is missing.
func argument(pid int, option string) string {
	args := bytes.Split(commandLine(pid), []byte{0})
	at := slices.IndexFunc(args, func(arg []byte) bool { return string(arg) == option })
	if at < 0 || at+1 >= len(args) {
		return ""
	}
	return string(args[at+1])
}
