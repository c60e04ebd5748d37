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

// runSuffix ends the name of every run file.
const runSuffix = ".run.json"

// take creates the folder if it is missing, checks that other users cannot access it, and locks it.
// The lock ends when the file is closed, or with the process.
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

// files are the paths of the files of one Gateway's Envoy.
type files struct {
	bootstrap string // Envoy's configuration
	run       string // which process it is
	log       string // what it writes to standard error
	oddLog    string // the same of epochs 1, 3, 5 …: two epochs may write at once
	socket    string // its admin interface
}

// logOf returns the log file of an epoch.
func (f files) logOf(epoch int) string {
	if epoch%2 == 1 {
		return f.oddLog
	}
	return f.log
}

// filesOf returns the paths for a Gateway. A long name is cut and gets a hash, because the path of
// a socket has at most 107 bytes.
func filesOf(folder, gateway string) files {
	const longest, kept = 48, 32
	// A namespace has no dot, so that no two Gateways have one name here.
	name := strings.Replace(gateway, "/", ".", 1)
	if len(name) > longest {
		name = fmt.Sprintf("%s-%x", name[:kept], sha256.Sum256([]byte(gateway)))[:longest]
	}
	base := filepath.Join(folder, name)
	return files{bootstrap: base + ".yaml", run: base + runSuffix, log: base + ".log", oddLog: base + "_1.log", socket: base + ".sock"}
}

// remove removes all files, including the log, which was already passed on.
func (f files) remove() {
	for _, path := range []string{f.run, f.bootstrap, f.log, f.oddLog, f.socket} {
		_ = os.Remove(path) // what is left is written anew, or known to be stale
	}
}

// run is the run file: which process is the Envoy of a Gateway.
type run struct {
	Gateway string `json:"gateway"`
	// Pid is 0 while the process is being started.
	Pid int `json:"pid"`
	// Start is when the process began, in ticks since the boot of that Boot is the id:
	// with the pid, no other process has or will ever have it.
	Start uint64    `json:"start"`
	Boot  string    `json:"boot"`
	Mark  string    `json:"mark"` // of the launch
	Since time.Time `json:"since"`
	// Base is Envoy's base id, 0 for one that is started without hot restart, and Epoch counts the Envoys
	// that took over from one another.
	Base  int `json:"base,omitempty"`
	Epoch int `json:"epoch,omitempty"`
	// Parent is the epoch before, which runs or has ended.
	Parent *run `json:"parent,omitempty"`
}

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

func (r run) write(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return wholefile.Replace(path, append(text, '\n'), 0o600)
}

// of returns the run file with the data of the process pid.
func (r run) of(pid int, f files) (run, error) {
	start, err := startTime(pid)
	if err != nil {
		return r, err
	}
	r.Pid, r.Start = pid, start
	return r, r.write(f.run)
}

// leftBehind returns the Gateways that may have an Envoy of an earlier gatefold: those with a run
// file, and those with a process started with their bootstrap whose run file was lost. It ends
// processes that belong to no Gateway.
func (h *Host) leftBehind(wanted map[string]*ir.Infra) []string {
	folder := h.options.Folder
	entries, _ := os.ReadDir(folder) // what was read before an error counts
	known := map[string]string{}     // Gateways by bootstrap
	for gateway := range wanted {
		known[filesOf(folder, gateway).bootstrap] = gateway
	}
	var gateways []string
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if !strings.HasSuffix(path, runSuffix) {
			continue
		}
		// A run file under another name is nobody's: what it says was not written here.
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
				_ = handle.Signal(syscall.SIGTERM) // an error means that it has ended
			}
		}
	}
	slices.Sort(gateways)
	return slices.Compact(gateways)
}
