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

// The waits between tries to write after one failed.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// errSlow means that the last changes were not written in time.
var errSlow = errors.New("the disk does not answer; the last changes may not be saved")

// Keeper writes a journal beside the program's work: nobody waits for the disk,
// and of changes that wait for it the newest counts. What cannot be written is
// tried again until it can.
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

	journal *Journal // of the goroutine, as is what follows; nil when it could not be opened
	reason  string   // that was reported last
	retry   time.Duration
}

// Start begins to keep a journal, or, where that is nil, to try to open it again;
// failed says why it could not be. all gives everything that is to be saved. report is told why it is
// not, once for each reason, and nil when it is again. Both are called by the
// Keeper's goroutine, all not before the first Save.
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

// Save has changes written, and returns at once.
func (k *Keeper) Save(changes []store.Saved) {
	k.mu.Lock()
	k.begun = true
	for _, saved := range changes {
		k.pending[saved.Key] = saved
	}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default: // it is awake
	}
}

// Failing reports whether the last try to write failed.
func (k *Keeper) Failing() bool { return k.failing.Load() }

// Size is the length of the journal in bytes.
func (k *Keeper) Size() int64 { return k.size.Load() }

// Close writes what waits, and returns when that is done or failed, or with an
// error after patience.
func (k *Keeper) Close(patience time.Duration) error {
	close(k.stop)
	select {
	case <-k.done:
		return nil
	case <-time.After(patience):
		return errSlow
	}
}

func (k *Keeper) run(failed error) {
	defer close(k.done)
	k.tell(failed)
	again := time.NewTimer(k.retry)
	for {
		wake := k.wake
		if k.failing.Load() {
			wake = nil // the timer says when
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

// write writes what waits, false when it cannot.
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
	k.tell(err) // first: who sees that it fails may ask why
	k.failing.Store(err != nil)
	return err == nil
}

// puts is put. A panic is a mistake in gatefold, and an error: it is tried again later.
func (k *Keeper) puts(batch map[manifest.Key]store.Saved) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("a mistake in gatefold (at %s); please report it", strings.Join(store.PanickedAt(3), " < "))
		}
	}()
	return k.put(batch)
}

func (k *Keeper) put(batch map[manifest.Key]store.Saved) error {
	if k.journal == nil {
		journal, _, err := Open(k.options)
		if err != nil {
			return err
		}
		journal.Forget() // it is older than what serves
		k.journal = journal
	}
	keys := slices.SortedFunc(maps.Keys(batch), manifest.CompareKeys)
	changes := make([]store.Saved, len(keys))
	for i, key := range keys {
		changes[i] = batch[key]
	}
	return k.journal.Write(changes, k.all)
}

// tell reports what is new.
func (k *Keeper) tell(err error) {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	if reason != k.reason {
		k.reason = reason
		k.report(err)
	}
}
