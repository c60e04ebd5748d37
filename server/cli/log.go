package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/store/visible"
)

// logOptions are the flags for the log of serve. The log is written to standard error.
type logOptions struct {
	format, level string
}

func (o *logOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.format, "log-format", "", "console or json (default console on a terminal, else json)")
	flags.StringVar(&o.level, "log-level", "info", "debug, info, warn or error")
}

// logger returns the logger, which writes to w. The error names the flag that is invalid.
func (o logOptions) logger(w io.Writer) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(o.level)
	if err != nil || level < zerolog.DebugLevel || level > zerolog.ErrorLevel {
		return zerolog.Logger{}, fmt.Errorf("--log-level %q: must be debug, info, warn or error", o.level)
	}
	terminal := isTerminal(w)
	switch {
	case o.format == "console", o.format == "" && terminal:
		w = zerolog.ConsoleWriter{
			Out: w, TimeFormat: "15:04:05.000", NoColor: !useColor(terminal), FieldsOrder: fieldsOrder(), FormatPrepare: forConsole,
		}
	case o.format != "json" && o.format != "":
		return zerolog.Logger{}, fmt.Errorf("--log-format %q: must be console or json", o.format)
	}
	return zerolog.New(w).Level(level).Hook(zerolog.HookFunc(stamp)), nil
}

// fieldsOrder returns the order of fields in the console format.
func fieldsOrder() []string {
	return append([]string{"object", "field", "code", "hint", "set", "removed"}, engine.LogFields()...)
}

// forConsole changes a log line for the console format. It moves file, line and column of a problem in front of
// the message, in a form that editors and terminals can open. It escapes control characters, and removes fields
// whose value is "" or "@" (the address of an unnamed socket). It always returns nil.
func forConsole(line map[string]any) error {
	file, _ := line["file"].(string)
	message, _ := line[zerolog.MessageFieldName].(string)
	if file != "" && message != "" {
		for _, name := range []string{"line", "column"} {
			if line[name] != nil {
				file += fmt.Sprintf(":%v", line[name])
			}
		}
		line[zerolog.MessageFieldName] = file + ": " + message
		for _, name := range []string{"file", "line", "column"} {
			delete(line, name)
		}
	}
	for name, value := range line {
		if text, ok := value.(string); ok {
			line[name] = visible.Text(text)
		}
		if (value == "" || value == "@") && name != zerolog.MessageFieldName { // "@" is an unnamed socket
			delete(line, name)
		}
	}
	return nil
}

// stamp adds the time with milliseconds to a log line. zerolog's own time format is a global setting with whole
// seconds.
func stamp(line *zerolog.Event, _ zerolog.Level, _ string) {
	line.Str(zerolog.TimestampFieldName, time.Now().Format("2006-01-02T15:04:05.000Z07:00"))
}

// isTerminal reports whether w writes to a terminal. If w has a method Unwrap, it checks the wrapped writer.
func isTerminal(w io.Writer) bool {
	if wrapped, ok := w.(interface{ Unwrap() io.Writer }); ok {
		w = wrapped.Unwrap()
	}
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// useColor reports whether to print colors: only on a terminal, and not if NO_COLOR is set (no-color.org).
func useColor(terminal bool) bool { return terminal && os.Getenv("NO_COLOR") == "" }
