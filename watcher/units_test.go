package watcher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheNoiseOfOneUnitIsItsOwn: while a team writes a file again and again, edits and removals of another are in the
// Trees, and nothing that the noisy team adds is, until it comes to rest.
func TestTheNoiseOfOneUnitIsItsOwn(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/noise.yaml", "a/gone.yaml", "b/edit.yaml", "b/gone.yaml"} {
		put(t, "1", root, name)
	}
	age()
	w := start(t, root, func(o *Options) {
		o.Quiet, o.MaxAdd, o.MaxRemoveUnit, o.MaxRemove = 3*time.Second, 3*time.Second, 4*time.Second, time.Hour
		o.Unit = func(path string) string { unit, _, _ := strings.Cut(path, "/"); return unit }
	})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 2; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_ = os.WriteFile(filepath.Join(root, "a", "noise.yaml"), fmt.Append(nil, i), 0o644)
			}
		}
	}()
	put(t, "route", root, "a", "route.yaml")
	must(t, os.Remove(filepath.Join(root, "a", "gone.yaml")))
	replaceFile(t, "2", root, "b", "edit.yaml")
	must(t, os.Remove(filepath.Join(root, "b", "gone.yaml")))
	var seen []string
	for !slices.Equal(seen, []string{"a/gone.yaml=1", "a/noise.yaml=1", "b/edit.yaml=2"}) {
		seen = contents(w.next())
		if !slices.Contains(seen, "a/gone.yaml=1") || !slices.Contains(seen, "a/noise.yaml=1") || strings.Contains(strings.Join(seen, " "), "route") {
			t.Fatalf("a Tree of %v while a team writes", seen)
		}
	}
	close(stop)
	<-stopped
	put(t, "policy", root, "a", "policy.yaml")
	if seen = contents(w.next()); len(seen) != 4 || seen[0] != "a/noise.yaml="+read(t, root, "a", "noise.yaml") || seen[1] != "a/policy.yaml=policy" || seen[2] != "a/route.yaml=route" {
		t.Errorf("at rest: a Tree of %v", seen)
	}
}

// TestAFileThatWasOpenComesInSpiteOfNoise: nothing tells that a program has closed it.
func TestAFileThatWasOpenComesInSpiteOfNoise(t *testing.T) {
	root := t.TempDir()
	w := step(t, root)
	w.opt.Unit = func(path string) string { unit, _, _ := strings.Cut(path, "/"); return unit }
	w.settle = newSettle(w.opt)
	w.settle.note(time.Now().Add(time.Hour), change{"a/noise.yaml", written})
	v, _ := w.settle.due(time.Now())
	if v != wait || w.settle.reopened(v) != additions {
		t.Error("the Tree waits for others' noise")
	}
	if !w.settle.waits(time.Now(), "a/noise.yaml") || w.settle.waits(time.Now(), "b/open.yaml") {
		t.Error("it has what must wait, or not the file")
	}
	w.settle.lock(time.Now(), true)
	if v, _ = w.settle.due(time.Now()); w.settle.reopened(v) != wait {
		t.Error("git's lock does not count")
	}
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elem...))
	must(t, err)
	return string(text)
}
