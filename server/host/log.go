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
	// linesAtOnce is the highest number of log lines that are copied at each read.
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
// Every tailTime it copies at most linesAtOnce lines; of further lines it logs only the number. When Envoy has
// ended (the channel ended is closed), run copies the last lines before it returns. When ctx ends, run returns
// without them.
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

// look reads the new lines of the file at path, and writes at most linesAtOnce of them to gatefold's log, each
// cut to maxLine bytes. It logs how many lines it left out. If it has read the whole file, and the file has at
// least maxLog bytes, it empties the file.
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

// passOn writes one line of Envoy's log to gatefold's log. The first word of the line is Envoy's level: trace
// and debug become info, critical becomes error, and a line without a level becomes a warning. A line about a bind
// error becomes debug (see aboutBind).
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

// aboutBind reports whether Envoy logs the line because it cannot bind an address. Envoy also sends this error
// to the server, and the server reports it once, with a hint.
func aboutBind(text string) bool {
	return strings.Contains(text, "cannot bind ") && (strings.HasPrefix(text, "config: ") || strings.HasPrefix(text, "upstream: "))
}
