package journal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// The time between attempts to write after a failure. It doubles from firstRetry to lastRetry.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// errSlow means that the last changes were not written in time.
var errSlow = errors.New("the disk does not answer; the last changes may not be saved")

// Keeper writes a journal in the background, so that callers of Save do not wait for the disk. If an object
// changes again before it is written, only its newest version is written. Failed writes are repeated until they
// succeed.
type Keeper struct {
	options Options
	all     func() []store.Saved
	report  func(error)

	mu      sync.Mutex
	pending map[manifest.Key]store.Saved
	begun   bool // Save was called

	wake, stop, done chan struct{}
	failing          atomic.Bool
	size             atomic.Int64

	// Only the Keeper's goroutine uses the following fields.

	journal *Journal // nil if it could not be opened
	reason  string   // the error that was reported last
	retry   time.Duration
}

// Start starts a Keeper of a journal. If journal is nil, failed must be the error of Open, and the Keeper tries
// to open the journal again. The function all must return every object to be saved; it is called only after the
// first Save. The function report is called with each new error of saving, and with nil when saving works
// again. The Keeper's goroutine calls both functions.
func Start(options Options, journal *Journal, failed error, all func() []store.Saved, report func(error)) *Keeper {
	k := &Keeper{
		options: options, journal: journal, all: all, report: report, retry: firstRetry,
		pending: map[manifest.Key]store.Saved{}, wake: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	if journal != nil {
		k.size.Store(journal.size)
	}
	k.failing.Store(failed != nil)
	go k.run(failed)
	return k
}

// Save schedules a write of changes and returns at once.
func (k *Keeper) Save(changes []store.Saved) {
	k.mu.Lock()
	k.begun = true
	for _, saved := range changes {
		k.pending[saved.Key] = saved
	}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default: // a wake-up is already waiting
	}
}

// Failing reports whether the last write failed. It is true from the start if the journal could not be opened.
func (k *Keeper) Failing() bool { return k.failing.Load() }

// Size returns the length of the journal in bytes after the last successful write. Before the first write, it
// returns the length at the start, or 0 if the journal was not open then.
func (k *Keeper) Size() int64 { return k.size.Load() }

// Close writes the pending changes, unlocks the folder and stops the Keeper. Then it returns nil, even if the
// write failed. If all this takes longer than the parameter patience, Close returns errSlow, and the work
// continues in the background.
func (k *Keeper) Close(patience time.Duration) error {
	close(k.stop)
	select {
	case <-k.done:
		return nil
	case <-time.After(patience):
		return errSlow
	}
}

// run writes the pending changes whenever Save is called, until Close is called. After a failed write, it waits
// for the time k.retry, and doubles k.retry up to lastRetry. The parameter failed is the error of opening the
// journal, or nil; run reports it first.
func (k *Keeper) run(failed error) {
	defer close(k.done)
	k.reportChange(failed)
	again := time.NewTimer(k.retry)
	for {
		wake := k.wake
		if k.failing.Load() {
			wake = nil // the timer decides
		}
		select {
		case <-wake:
		case <-again.C:
		case <-k.stop:
			k.write()
			if k.journal != nil {
				k.journal.Close()
			}
			return
		}
		if !k.write() {
			again.Reset(k.retry)
			k.retry = min(2*k.retry, lastRetry)
		}
	}
}

// write writes the pending changes, and reports whether that succeeded. After a failure, the changes stay pending.
// Until Save is called for the first time, there is nothing to write: the result only says whether Start got an open
// journal.
func (k *Keeper) write() bool {
	k.mu.Lock()
	begun, batch := k.begun, k.pending
	k.pending = map[manifest.Key]store.Saved{}
	k.mu.Unlock()
	if !begun {
		return !k.failing.Load()
	}
	err := k.puts(batch)
	if err != nil {
		k.mu.Lock()
		maps.Copy(batch, k.pending)
		k.pending = batch
		k.mu.Unlock()
	} else {
		k.retry = firstRetry
		k.size.Store(k.journal.size)
	}
	k.reportChange(err) // before failing is set, so that the reason is reported first
	k.failing.Store(err != nil)
	return err == nil
}

// puts calls put, and returns a panic of put as an error.
func (k *Keeper) puts(batch map[manifest.Key]store.Saved) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("a mistake in gatefold (at %s); please report it", strings.Join(store.PanickedAt(3), " < "))
		}
	}()
	return k.put(batch)
}

// put writes the newest state of each object in batch. It opens the journal first if it is not open. It returns
// the error of Open or Write.
func (k *Keeper) put(batch map[manifest.Key]store.Saved) error {
	if k.journal == nil {
		journal, _, err := Open(k.options)
		if err != nil {
			return err
		}
		journal.Forget() // its content is outdated
		k.journal = journal
	}
	keys := slices.SortedFunc(maps.Keys(batch), manifest.CompareKeys)
	changes := make([]store.Saved, len(keys))
	for i, key := range keys {
		changes[i] = batch[key]
	}
	return k.journal.Write(changes, k.all)
}

// reportChange calls k.report with err if the text of err differs from that of the last call. A nil err is
// reported only after an error.
func (k *Keeper) reportChange(err error) {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	if reason != k.reason {
		k.reason = reason
		k.report(err)
	}
}
