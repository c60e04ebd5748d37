package watcher

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func countLines(s string) int { return strings.Count(s, "\n") }

// step makes a watch of root that goes only where the test has it go.
func step(t *testing.T, root string) *watch {
	t.Helper()
	w, err := newWatch(Options{Root: root, FallbackScan: time.Hour}.withDefaults(), zerolog.Nop())
	must(t, err)
	done := make(chan struct{})
	go func() { defer close(done); w.events.drain() }()
	t.Cleanup(func() { w.events.close(); <-done })
	return w
}

// file is the nth file of a Tree.
func file(tree Tree, n int) File { return slices.Collect(tree.Files.All())[n] }
