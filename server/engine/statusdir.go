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

// If status files cannot be written, gatefold waits firstStatusRetry before it writes them again. After each further
// failure it waits twice as long as before, but at most lastStatusRetry.
const (
	firstStatusRetry = time.Second
	lastStatusRetry  = 30 * time.Second
)

// startStatusDir starts to write status files into dir, until ctx ends. The returned function waits until
// writing has ended, at most for statePatience. If dir is "", nothing is written.
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

// statusWriter writes status files in the background, so that nothing waits for the disk. If a file has several
// changes, only the newest is written. A file that could not be written is tried again later. The files remain
// when gatefold stops.
type statusWriter struct {
	feed    *board.Feed
	folder  statusFolder
	log     zerolog.Logger
	failing atomic.Bool

	pending map[string]*board.Object[any] // by file; nil if the file is to be removed
	reason  string                        // the error that was logged last
	retry   time.Duration
}

// run writes the changes of the feed until ctx ends.
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
			w.reportState(err)
		}
	}
}

// write writes the status files of the objects that changed, and the files that could not be written before. At
// its first call, and after the folder was replaced, it writes the files of all objects, and removes the files of
// objects that no longer exist. It returns the first error.
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
		if errors.Is(err, errNoSpare) { // no other file can be written either
			break
		}
	}
	return first
}

// put writes the present status of an object into a file, or removes the file if the parameter now is nil. The
// error says why that failed.
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

// reportState is called after each attempt to write status files, with the error of the attempt or nil. It logs an
// error whose text differs from that of the attempt before, and it logs when writing works again. It also stores
// whether writing fails, for the method run and for the metric.
func (w *statusWriter) reportState(err error) {
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
