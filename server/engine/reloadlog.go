package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/store/manifest"
)

// stageNames are the stages that a summary tells, in their order.
func stageNames() []string { return []string{"scan", "parse", "validate", "translate", "publish"} }

// LogFields returns the names of the fields in the line of a reload, in the order that a
// console shows.
func LogFields() []string {
	fields := []string{"files", "objects", "changed", "resources", "errors", "warnings"}
	for _, stage := range stageNames() {
		fields = append(fields, stage+"_ms")
	}
	return append(fields, "total_ms", "revision")
}

// summarize writes the one line of a reload. total_ms counts from the moment
// that the first change was seen, quiet time included.
func (p *pipeline) summarize(r *reload) {
	level := zerolog.InfoLevel
	if len(p.asked) == 0 && r.nothing() {
		level = zerolog.DebugLevel
	}
	line := p.log.WithLevel(level).Int("files", r.change.Stats.Files).Int("objects", r.change.Stats.Objects).
		Int("changed", len(r.change.Set)+len(r.change.Gone)+len(r.change.Invalid)).Int("resources", len(r.result.Delta)).
		Int("errors", p.errors).Int("warnings", p.warnings)
	for _, stage := range stageNames() {
		line.Float64(stage+"_ms", milliseconds(r.stages[stage]))
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

// nothing reports whether the folder was as it was: nothing was read, and nothing changed.
func (r *reload) nothing() bool {
	return r.again && r.change.Stats.FilesChanged+len(r.change.Set)+len(r.change.Gone)+len(r.change.Invalid)+len(r.result.Delta) == 0
}

// maxKeysLogged is how many objects of each sort the line of a reload names.
const maxKeysLogged = 5

// named is "HTTPRoute shop/cart, Service shop/cart and 3 more".
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

// milliseconds is how the log and reports give a time: to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
