package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// stageNames returns the names of the steps of a run that the log and the pages show, in order.
func stageNames() []string { return []string{"scan", "parse", "validate", "translate", "publish"} }

// LogFields returns the names of the fields in the log line of a reload, in the order in which the console
// shows them.
func LogFields() []string {
	fields := []string{"files", "objects", "changed", "resources", "errors", "warnings"}
	for _, stage := range stageNames() {
		fields = append(fields, stage+"_ms")
	}
	return append(fields, "total_ms", "revision")
}

// runLog logs each run: the problems that are new or fixed, and the result.
type runLog struct {
	log      zerolog.Logger
	problems problemLog
	ignored  []store.Ignored // the list that was logged last
	empty    bool            // the last Tree had no files
}

// observe implements observer.
func (l *runLog) observe(r *run) {
	if r.reload.Result == "failed" || r.tree == nil && !r.published { // the reason is logged already
		return
	}
	l.problems.update(l.log, r.problems)
	switch {
	case r.tree == nil:
	case r.reload.Hold != "":
		words := "gatefold still serves what it served before"
		if r.first && !r.published {
			words = "gatefold serves nothing yet, and Envoys keep what they have"
		}
		l.log.Error().Str("folder", r.tree.Root).Str("hold", r.reload.Hold).Msg("ALARM: the folder is frozen: " + words)
	case r.reload.OK:
		l.noteIgnored(r.change.Ignored)
		l.noteEmpty(r.tree)
		l.summarize(r)
	}
}

// noteIgnored logs how many documents of each kind gatefold does not use. It logs nothing if these numbers are
// the same as before or all zero.
func (l *runLog) noteIgnored(ignored []store.Ignored) {
	if slices.Equal(ignored, l.ignored) {
		return
	}
	if l.ignored = ignored; len(ignored) > 0 {
		l.log.Info().Strs("documents", store.IgnoredWords(ignored)).Msg("the folder holds documents that gatefold does not use")
	}
}

// noteEmpty logs a warning if the folder has no files, because it is probably the wrong folder. It logs nothing
// if the folder already had no files before.
func (l *runLog) noteEmpty(tree *watcher.Tree) {
	empty := tree.Files.Len()+len(tree.Skipped) == 0
	if empty && !l.empty {
		l.log.Warn().Str("folder", tree.Root).Msg("no YAML files in the folder: gatefold serves nothing until there are some")
	}
	l.empty = empty
}

// summarize logs one line about a reload. The level is debug if nothing changed and no user waits for the reload.
// The field total_ms is the time since the first change of a file, including the debounce. The line names at most
// maxKeysLogged objects that were set, and as many that were removed.
func (l *runLog) summarize(r *run) {
	level := zerolog.InfoLevel
	if !r.asked && r.nothing() {
		level = zerolog.DebugLevel
	}
	line := l.log.WithLevel(level).Int("files", r.change.Stats.Files).Int("objects", r.change.Stats.Objects).
		Int("changed", len(r.change.Set)+len(r.change.Gone)+len(r.change.Invalid)).Int("resources", len(r.result.Delta)).
		Int("errors", r.errors).Int("warnings", r.warnings)
	for _, stage := range stageNames() {
		line.Float64(stage+"_ms", milliseconds(r.reload.Stages[stage]))
	}
	line.Float64("total_ms", milliseconds(time.Since(r.tree.Noticed)))
	if r.tree.Revision != "" {
		line.Str("revision", r.tree.Revision)
	}
	if len(r.change.Set) > 0 {
		var set []manifest.Key
		for _, o := range r.change.Set[:min(len(r.change.Set), maxKeysLogged)] {
			set = append(set, o.Key)
		}
		line.Str("set", named(set, len(r.change.Set)))
	}
	if gone := r.change.Gone; len(gone) > 0 {
		line.Str("removed", named(gone[:min(len(gone), maxKeysLogged)], len(gone)))
	}
	line.Msg("reloaded")
}

// nothing reports whether the run had no effect: it read no file and changed nothing. It returns false before the
// first publication.
func (r *run) nothing() bool {
	return !r.first && r.change.Stats.FilesChanged+len(r.change.Set)+len(r.change.Gone)+len(r.change.Invalid)+len(r.result.Delta) == 0
}

// maxKeysLogged limits the objects that the log line of a reload names: at most maxKeysLogged objects that were set,
// and at most maxKeysLogged objects that were removed.
const maxKeysLogged = 5

// named returns a text such as "HTTPRoute shop/cart, Service shop/cart and 3 more". It names the objects in keys.
// The parameter all is the number of all objects, including those in keys.
func named(keys []manifest.Key, all int) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	text := strings.Join(names, ", ")
	if more := all - len(keys); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// milliseconds returns a duration in milliseconds, rounded down to microseconds.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
