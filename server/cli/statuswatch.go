package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// watchEvery is the time between two requests of `status --watch`.
const watchEvery = 2 * time.Second

// follow prints the status, and prints it again after each change, until ctx ends. It returns an error if the
// first request fails or the output cannot be written. If a later request fails, it prints the error once and
// retries, because gatefold may be restarting. When ctx ends, it returns errFindings if the last status shows a
// problem, and otherwise nil.
func (o *statusOptions) follow(ctx context.Context, out, stderr io.Writer) error {
	var last []byte
	var view statusView
	lost := false
	for begun := false; ; begun = true {
		now, err := o.ask(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && !begun:
			return o.missing(stderr, err)
		case err != nil:
			if !lost {
				fmt.Fprintf(stderr, "gatefold: %v; asking again every %s\n", err, watchEvery)
			}
			lost = true
		default:
			view, lost = now, false
			if last, err = o.reprint(out, now, last); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			if view != nil && view.wrong() {
				return errFindings
			}
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// reprint prints the view if its output differs from the output that was printed before (the parameter last). In
// text and YAML, a header separates the new output from the old one. reprint returns the output of the view without
// the header. The error means that the output cannot be written.
func (o *statusOptions) reprint(out io.Writer, view statusView, last []byte) ([]byte, error) {
	var now bytes.Buffer
	if err := view.write(&now, o.format); err != nil {
		return last, err
	}
	if bytes.Equal(now.Bytes(), last) {
		return last, nil
	}
	header := ""
	switch {
	case o.format == formatText && last != nil:
		header = "\n--- " + time.Now().Format(time.TimeOnly) + "\n"
	case o.format == formatYAML:
		header = "---\n"
	}
	_, err := io.WriteString(out, header)
	_, again := out.Write(now.Bytes())
	return bytes.Clone(now.Bytes()), errors.Join(err, again)
}
