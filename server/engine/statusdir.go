package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/board"
)

// The waits between tries to write after one failed.
const (
	firstStatusRetry = time.Second
	lastStatusRetry  = 30 * time.Second
)

// startStatusDir writes status files until ctx ends. The returned function waits for the end, but
// not for a disk that hangs.
func startStatusDir(ctx context.Context, dir string, srv *server.Server, log zerolog.Logger) (wait func()) {
	if dir == "" {
		return func() {}
	}
	w := &statusWriter{
		feed: srv.FollowStatus(), folder: statusFolder{dir: dir}, pending: map[string]*board.Object[any]{},
		log: log.With().Str("folder", dir).Logger(), retry: firstStatusRetry,
	}
	srv.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gatefold_status_dir_written", Help: "1 while the status of every object can be written to --status-dir, else 0.",
	}, func() float64 {
		if w.failing.Load() {
			return 0
		}
		return 1
	}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Steady(ctx, "status", w.run)
	}()
	return func() {
		select {
		case <-done:
		case <-time.After(statePatience):
		}
	}
}

// statusWriter writes in the background, so that nothing waits for the disk. Of several pending
// changes of a file it writes the newest. It retries what cannot be written. At the end the files
// stay.
type statusWriter struct {
	feed    *board.Feed
	folder  statusFolder
	log     zerolog.Logger
	failing atomic.Bool

	pending map[string]*board.Object[any] // by file; nil when it is to go
	reason  string                        // that was logged last
	retry   time.Duration
}

func (w *statusWriter) run(ctx context.Context) {
	defer w.folder.close()
	for ctx.Err() == nil {
		var again <-chan time.Time
		if w.failing.Load() {
			again = time.After(w.retry)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.feed.Changed():
		case <-again:
			w.retry = min(2*w.retry, lastStatusRetry)
		}
		if err := w.write(ctx); ctx.Err() == nil {
			w.tell(err)
		}
	}
}

// write writes the changes of the feed. If the folder is a new one, as at the start, it compares
// all files.
func (w *statusWriter) write(ctx context.Context) error {
	anew, err := w.folder.open()
	if err != nil {
		return err
	}
	for _, change := range w.feed.Take(anew) {
		w.pending[statusFile(change.Key)] = change.Now
	}
	if anew {
		for _, file := range w.folder.files() {
			if _, wanted := w.pending[file]; !wanted {
				w.pending[file] = nil
			}
		}
	}
	var first error
	for _, file := range slices.Sorted(maps.Keys(w.pending)) {
		if ctx.Err() != nil {
			return first
		}
		err := w.put(file, w.pending[file])
		if err == nil {
			delete(w.pending, file)
			continue
		}
		if first == nil {
			first = err
		}
		if errors.Is(err, errNoSpare) { // nor could any other be written
			break
		}
	}
	return first
}

func (w *statusWriter) put(file string, now *board.Object[any]) error {
	if now == nil {
		return w.folder.remove(file)
	}
	text, err := yaml.Marshal(now)
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return w.folder.put(file, text)
}

// tell logs a new error, or its end.
func (w *statusWriter) tell(err error) {
	w.failing.Store(err != nil)
	reason := ""
	if err != nil {
		reason = err.Error()
	} else {
		w.retry = firstStatusRetry
	}
	switch {
	case reason == w.reason:
	case err == nil:
		w.log.Info().Msg("the status of objects is written again")
	default:
		w.log.Error().Err(err).Msg("the status of objects cannot be written; serving is not affected, and it is tried again")
	}
	w.reason = reason
}
