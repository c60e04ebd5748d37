package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store"
)

// kept is a Keeper, and what it must hold.
type kept struct {
	*Keeper
	t       *testing.T
	options Options
	mu      sync.Mutex
	model   model
	reports chan error
}

func startKept(t *testing.T, options Options) *kept {
	t.Helper()
	k := &kept{t: t, options: options, model: model{}, reports: make(chan error, 100)}
	j, content, err := Open(options)
	k.model.take(content.Saved)
	k.Keeper = Start(options, j, err, func() []store.Saved {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.model.all()
	}, func(err error) { k.reports <- err })
	return k
}

func (k *kept) save(changes ...store.Saved) {
	k.mu.Lock()
	k.model.take(changes)
	k.mu.Unlock()
	k.Save(changes)
}

// close closes the Keeper and reads what it wrote.
func (k *kept) close() {
	k.t.Helper()
	if err := k.Close(time.Minute); err != nil {
		k.t.Fatal(err)
	}
	_, content := open(k.t, k.options)
	wantContent(k.t, content, k.model.all(), "")
}

// written waits until what was saved is written.
func (k *kept) written() {
	k.t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(time.Millisecond) {
		k.Keeper.mu.Lock()
		waiting := len(k.pending)
		k.Keeper.mu.Unlock()
		if waiting == 0 && k.Size() > 0 {
			return
		}
	}
	k.t.Fatal("it is not written")
}

// report waits for the next report, and until Failing says the same: it follows.
func (k *kept) report() error {
	k.t.Helper()
	select {
	case err := <-k.reports:
		for deadline := time.Now().Add(time.Minute); k.Failing() != (err != nil); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				k.t.Fatalf("%v is reported, failing: %v", err, k.Failing())
			}
		}
		return err
	case <-time.After(time.Minute):
		k.t.Fatal("nothing is reported")
		return nil
	}
}

func TestKeeperWritesTheNewest(t *testing.T) {
	k := startKept(t, optionsOf(t.TempDir()))
	for i := range 2000 {
		k.save(saved(fmt.Sprint(i%7), fmt.Sprint(i)), saved(fmt.Sprint("gone", i), "x"), saved(fmt.Sprint("gone", i-1), ""))
	}
	k.close()
	if len(k.reports) > 0 {
		t.Error(<-k.reports)
	}
}

// A folder that cannot be used is said once, and used as soon as it can be.
func TestKeeperRecovers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := startKept(t, optionsOf(dir))
	if err := k.report(); err == nil {
		t.Fatal("a file is used as a folder")
	}
	k.save(saved("a", "1"))
	k.save(saved("b", "1"))
	k.save(saved("a", "2"))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := k.report(); err != nil {
		t.Error(err)
	}
	k.close()
}

// A disk that does not answer delays the end no longer than it may.
func TestKeeperDoesNotWaitForEver(t *testing.T) {
	release := make(chan struct{})
	j, _ := open(t, optionsOf(t.TempDir()))
	k := Start(j.options, j, nil, func() []store.Saved { <-release; return nil }, func(error) {})
	k.Save(nil)
	if err := k.Close(time.Millisecond); !errors.Is(err, errSlow) {
		t.Errorf("got %v", err)
	}
	close(release)
	<-k.done
}

// A panic while the state is written is an error that is told, and tried again later.
func TestAPanicOfTheKeeperIsAnError(t *testing.T) {
	k := &Keeper{options: Options{Dir: t.TempDir()}, journal: &Journal{}, all: func() []store.Saved { panic("a mistake") }}
	k.journal.options = k.options
	if err := k.journal.take(); err != nil {
		t.Fatal(err)
	}
	defer k.journal.Close()
	if err := k.puts(nil); err == nil || !strings.Contains(err.Error(), "a mistake in gatefold (at journal/") {
		t.Errorf("got %v", err)
	}
}
