package cli

import (
	"fmt"

	"github.com/gatefold/gatefold/watcher"
)

// watchMode returns the mode that --watch names. It returns an error for an unknown mode.
func watchMode(word string) (watcher.Mode, error) {
	switch mode := watcher.Mode(word); mode {
	case watcher.Auto, watcher.Inotify, watcher.Poll:
		return mode, nil
	}
	return "", fmt.Errorf("--watch %q: must be auto, inotify or poll", word)
}
