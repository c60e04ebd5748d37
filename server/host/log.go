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
	// tailTime is the time between two reads of an Envoy's log.
	tailTime = 200 * time.Millisecond
	// linesAtOnce is the highest number of log lines of level info and warning that are copied at each read.
	linesAtOnce = 20
	// keptLines is how many of the last log lines are reported when an Envoy ends.
	keptLines = 5
	// maxLine limits the length of a copied line, in bytes.
	maxLine = 2000
	// maxLog is the size at which the log is emptied, and how much of it is read at once, in bytes.
	maxLog = 1 << 20
)

// tail copies the log of one Envoy to gatefold's log. Envoy writes to a file and not to a pipe, so that it
// never waits for a reader.
type tail struct {
	offset  int64
	partial []byte
	kept    []string
	done    chan struct{}
}

func newTail() *tail { return &tail{done: make(chan struct{})} }

// from makes the tail begin at the current end of the log file, so that it does not copy older lines.
func (t *tail) from(file *os.File) {
	if info, err := file.Stat(); err == nil {
		t.offset = info.Size()
	}
}

// run copies new lines of Envoy's log (the file at path) to gatefold's log, until Envoy has ended or ctx ends.
// Every tailTime it copies at most linesAtOnce lines of level info and warning, and all others; of further lines it logs only the
// number. When Envoy has ended (the channel ended is closed), run copies the last lines before it returns. When ctx
// ends, run returns without them.
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
			// gatefold stops, and the Envoy is ended or left running. Another goroutine waits for its end.
			return
		}
	}
}

// last returns the last lines of the log, at most keptLines. It first waits until the method run has returned.
func (t *tail) last() []string {
	<-t.done
	return t.kept
}

// look reads the new lines of the file at path, and writes at most linesAtOnce of those of level info and warning,
// and all others, to gatefold's log, each cut to maxLine bytes. It logs how many lines it left out. If it has read the whole file, and
// the file has at least maxLog bytes, it empties the file.
func (t *tail) look(path string, log zerolog.Logger) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return // the file was removed
	}
	defer file.Close()
	text, _ := io.ReadAll(io.NewSectionReader(file, t.offset, maxLog)) // the next call reads the rest
	t.offset += int64(len(text))
	if all := len(text) < maxLog; all && t.offset >= maxLog && file.Truncate(0) == nil {
		t.offset = 0 // Envoy appends, so it continues at 0
	}
	lines := bytes.Split(append(t.partial, text...), []byte("\n"))
	t.partial = bytes.Clone(lines[len(lines)-1])
	if len(t.partial) > maxLine {
		t.partial = t.partial[:maxLine]
	}
	lines = lines[:len(lines)-1]
	copied, left := 0, 0
	for _, line := range lines {
		text := string(line[:min(len(line), maxLine)])
		t.kept = append(t.kept, text)
		level, says := levelOf(text)
		if level == zerolog.InfoLevel || level == zerolog.WarnLevel {
			if copied == linesAtOnce {
				left++
				continue
			}
			copied++
		}
		log.WithLevel(level).Str("envoy", says).Msg("Envoy says")
	}
	t.kept = t.kept[max(0, len(t.kept)-keptLines):]
	if left > 0 {
		log.Warn().Int("lines", left).Str("file", path).Msg("Envoy writes too much: lines are left out here")
	}
}

// levelOf returns the level of gatefold's log for one line of Envoy's, and what the line says without Envoy's level,
// its first word: trace and debug become info, critical becomes error, and a line without a level becomes a warning. A
// line about a bind error (see aboutBind), or about the filters that every listener has (see aboutFilters), becomes
// debug.
func levelOf(line string) (zerolog.Level, string) {
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
	if aboutBind(text) || aboutFilters(text) {
		level = zerolog.DebugLevel
	}
	return level, text
}

// aboutBind reports whether Envoy logs the line because it cannot bind an address. Envoy also sends this error
// to the server, and the server reports it once, with a hint.
func aboutBind(text string) bool {
	return strings.Contains(text, "cannot bind ") && (strings.HasPrefix(text, "config: ") || strings.HasPrefix(text, "upstream: "))
}

// aboutFilters reports whether Envoy logs the line because a filter that each of gatefold's listeners has, in use or
// not, is one that Envoy's project has not finished. The documents name these filters; the log would name all of them
// for each listener.
func aboutFilters(text string) bool {
	return strings.HasPrefix(text, "misc: message ") && strings.Contains(text, " marked as work-in-progress")
}
