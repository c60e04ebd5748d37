package host

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

const (
	// tailTime is the time between two looks at an Envoy's log.
	tailTime = 200 * time.Millisecond
	// linesAtOnce is how many of its lines are passed on at each look.
	linesAtOnce = 20
	// keptLines are the last words of an Envoy that are told when it ends.
	keptLines = 5
	// maxLine bounds a line that is passed on, in bytes.
	maxLine = 2000
	// maxLog is the size at which the log is emptied, in bytes.
	maxLog = 1 << 20
)

// tail copies the log of an Envoy to gatefold's log. Envoy writes to a file and not to a pipe, so
// that it does not depend on a reader.
type tail struct {
	offset  int64
	partial []byte
	kept    []string
	done    chan struct{}
}

func newTail() *tail { return &tail{done: make(chan struct{})} }

// from starts at the current end of the file.
func (t *tail) from(file *os.File) {
	if info, err := file.Stat(); err == nil {
		t.offset = info.Size()
	}
}

// run follows the log until the Envoy or ctx has ended.
func (t *tail) run(ctx context.Context, path string, ended <-chan struct{}, log zerolog.Logger) {
	defer close(t.done)
	ticker := time.NewTicker(tailTime)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			t.look(path, log)
		case <-ended:
			t.look(path, log)
			return
		case <-ctx.Done():
			// It is ended or left now. The end is waited for elsewhere.
			return
		}
	}
}

// last returns the last lines after run has ended.
func (t *tail) last() []string {
	<-t.done
	return t.kept
}

// look copies the new lines.
func (t *tail) look(path string, log zerolog.Logger) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return // removed: there is nothing to tell
	}
	defer file.Close()
	text, _ := io.ReadAll(io.NewSectionReader(file, t.offset, maxLog)) // the next look reads on
	t.offset += int64(len(text))
	if all := len(text) < maxLog; all && t.offset >= maxLog && file.Truncate(0) == nil {
		t.offset = 0 // Envoy appends
	}
	lines := bytes.Split(append(t.partial, text...), []byte("\n"))
	t.partial = bytes.Clone(lines[len(lines)-1])
	if len(t.partial) > maxLine {
		t.partial = t.partial[:maxLine]
	}
	lines = lines[:len(lines)-1]
	for i, line := range lines {
		if line = line[:min(len(line), maxLine)]; i < linesAtOnce {
			passOn(string(line), log)
		}
		t.kept = append(t.kept, string(line))
	}
	t.kept = t.kept[max(0, len(t.kept)-keptLines):]
	if more := len(lines) - linesAtOnce; more > 0 {
		log.Warn().Int("lines", more).Str("file", path).Msg("Envoy writes too much: lines are left out here")
	}
}

// passOn writes a line to gatefold's log. The first word is Envoy's level.
func passOn(line string, log zerolog.Logger) {
	word, text, _ := strings.Cut(line, " ")
	level := zerolog.WarnLevel
	switch word {
	case "trace", "debug", "info":
		level = zerolog.InfoLevel
	case "error", "critical":
		level = zerolog.ErrorLevel
	case "warning":
	default:
		text = line
	}
	if aboutBind(text) {
		level = zerolog.DebugLevel
	}
	log.WithLevel(level).Str("envoy", text).Msg("Envoy says")
}

// aboutBind reports whether a line is one that Envoy logs when it cannot bind an address. Envoy
// also sends the error to the server, which reports it once, with a hint.
func aboutBind(text string) bool {
	return strings.Contains(text, "cannot bind ") && (strings.HasPrefix(text, "config: ") || strings.HasPrefix(text, "upstream: "))
}
