package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gatefold/gatefold/store"
)

// TestFullDisk fills a real file system of 256 KiB: what was saved stays, the
// Keeper says so once, and goes on when there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("NOT TESTED: a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	options := optionsOf(filepath.Join(dir, "state"))
	k := startKept(t, options)
	k.save(saved("a", "1"), saved("b", strings.Repeat("b", 50_000)))
	k.written()
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	k.save(saved("a", strings.Repeat("a", 60_000)))
	if err := k.report(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(options.Dir, nameOfJournal))
	if err != nil {
		t.Fatal(err)
	}
	aside := optionsOf(t.TempDir())
	if err := os.WriteFile(filepath.Join(aside.Dir, nameOfJournal), text, 0o600); err != nil {
		t.Fatal(err)
	}
	j, content := open(t, aside)
	wantContent(t, content, []store.Saved{saved("a", "1"), saved("b", strings.Repeat("b", 50_000))}, "")
	j.Close()
	k.save(saved("c", "1"))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := k.report(); err != nil {
		t.Error(err)
	}
	k.close()
}
