package host

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gatefold/gatefold/server/wholefile"
	"github.com/gatefold/gatefold/translate/ir"
)

// runSuffix is the end of the name of every run file.
const runSuffix = ".run.json"

// take creates the folder if it is missing, and locks it for this process. It returns the open lock file; the
// lock ends with unlock, or when the process ends. The error means that the folder or the lock file cannot
// be created, that the folder belongs to another user, that other users can access it, or that another gatefold has
// locked it.
func take(folder string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(folder)
	if err != nil {
		return nil, err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("it belongs to user %d, not to the one that gatefold runs as (%d)", owner.Uid, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("its mode is %#o: others can enter it; chmod 0700 it", mode)
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errors.New("another gatefold runs its Envoys from it: give each its own by --envoy-run-dir"), lock.Close())
	}
	return lock, nil
}

// unlock ends the lock of the folder, and closes its file. Closing the file alone would not end the lock while a
// child process is being started: until the child runs its program, it has a copy of every open file.
func unlock(lock *os.File) {
	_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_UN) // ignored: closing the file is the other way to unlock
	_ = lock.Close()                                   // ignored: nothing was written to it
}

// files are the paths of the files that belong to the Envoy of one Gateway.
type files struct {
	bootstrap string // Envoy's configuration
	run       string // the run file, see type run
	log       string // standard error of Envoy, in even epochs
	oddLog    string // standard error of Envoy, in odd epochs: two epochs may write at the same time
	socket    string // Envoy's admin interface
}

// logOf returns the path of the log file of an epoch.
func (f files) logOf(epoch int) string {
	if epoch%2 == 1 {
		return f.oddLog
	}
	return f.log
}

// filesOf returns the paths for the Envoy of a Gateway ("namespace/name"). It shortens a long name and adds a
// hash, because the path of a unix socket may have at most 107 bytes.
func filesOf(folder, gateway string) files {
	const longest, kept = 48, 32
	// A namespace contains no dot. So two Gateways never have the same file name.
	name := strings.Replace(gateway, "/", ".", 1)
	if len(name) > longest {
		name = fmt.Sprintf("%s-%x", name[:kept], sha256.Sum256([]byte(gateway)))[:longest]
	}
	base := filepath.Join(folder, name)
	return files{bootstrap: base + ".yaml", run: base + runSuffix, log: base + ".log", oddLog: base + "_1.log", socket: base + ".sock"}
}

// remove removes all files of a Gateway's Envoy, also the log, which gatefold copies to its own log (see tail).
func (f files) remove() {
	for _, path := range []string{f.run, f.bootstrap, f.log, f.oddLog, f.socket} {
		_ = os.Remove(path) // a file that stays is later overwritten, or recognized as outdated
	}
}

// run is the content of a run file. It identifies the process that is the Envoy of a Gateway.
type run struct {
	Gateway string `json:"gateway"`
	// Pid is 0 while the process is being started.
	Pid int `json:"pid"`
	// Start is the start time of the process, in ticks since the boot of the machine. Boot is the id of that
	// boot. Pid, Start and Boot together identify one process for all time.
	Start uint64    `json:"start"`
	Boot  string    `json:"boot"`
	Mark  string    `json:"mark"` // the mark of the launch, see launch.mark
	Since time.Time `json:"since"`
	// Base is Envoy's base id, or 0 for an Envoy without hot restart. Epoch is Envoy's restart epoch: how many
	// hot restarts led to this process.
	Base  int `json:"base,omitempty"`
	Epoch int `json:"epoch,omitempty"`
	// Parent is the Envoy of the previous epoch; its process may have ended. Parent is nil if there was no previous
	// epoch, or if gatefold noticed its end.
	Parent *run `json:"parent,omitempty"`
}

// readRun reads the run file at path. It returns an error if the file cannot be read, is not valid JSON, names no
// Gateway, or has an invalid pid. A pid of 0 is valid. readRun drops an invalid Parent, and the Parent of a Parent.
func readRun(path string) (run, error) {
	var r run
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	if r.Pid < 0 || r.Pid == 1 || r.Gateway == "" {
		return run{}, fmt.Errorf("%s names no process", path)
	}
	if parent := r.Parent; parent != nil {
		if parent.Parent = nil; parent.Pid <= 1 || parent.Gateway != r.Gateway {
			r.Parent = nil
		}
	}
	return r, nil
}

// write replaces the run file at path by r, as JSON. It returns an error if the file cannot be written.
func (r run) write(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return wholefile.Replace(path, append(text, '\n'), 0o600)
}

// of returns a copy of r for a running process: the copy has the pid and start time of the process. It also
// writes the copy to the run file of f. The error means that the process has ended or that the file cannot be
// written.
func (r run) of(pid int, f files) (run, error) {
	start, err := startTime(pid)
	if err != nil {
		return r, err
	}
	r.Pid, r.Start = pid, start
	return r, r.write(f.run)
}

// leftBehind returns the Gateways that may have an Envoy of an earlier gatefold, sorted. These are the Gateways with
// a run file, and the Gateways in wanted for which a process runs with their bootstrap file. The parameter wanted has
// the Gateways that need an Envoy, by name. If a process runs with another bootstrap file of the folder, its Gateway
// is not known, and leftBehind sends SIGTERM to the process.
func (h *Host) leftBehind(wanted map[string]*ir.Infra) []string {
	folder := h.options.Folder
	entries, _ := os.ReadDir(folder) // the entries before an error are still used
	known := map[string]string{}     // Gateways by the path of their bootstrap file
	for gateway := range wanted {
		known[filesOf(folder, gateway).bootstrap] = gateway
	}
	var gateways []string
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if !strings.HasSuffix(path, runSuffix) {
			continue
		}
		// Ignore a run file with the wrong name: gatefold did not write it.
		if r, err := readRun(path); err == nil && filesOf(folder, r.Gateway).run == path {
			gateways = append(gateways, r.Gateway)
			known[filesOf(folder, r.Gateway).bootstrap] = r.Gateway
		}
	}
	for bootstrap, pids := range orphans(folder) {
		if gateway, ok := known[bootstrap]; ok {
			gateways = append(gateways, gateway)
			continue
		}
		for _, pid := range pids {
			h.log.Warn().Int("pid", pid).Str("bootstrap", bootstrap).Msg("an Envoy of a Gateway that is not known is ended")
			if handle, err := os.FindProcess(pid); err == nil && bootstrapOf(pid) == bootstrap {
				_ = handle.Signal(syscall.SIGTERM) // the error means that the process has ended
			}
		}
	}
	slices.Sort(gateways)
	return slices.Compact(gateways)
}
