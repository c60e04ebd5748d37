package watcher

import (
	"testing"
	"time"
)

// Additions wait no shorter than other changes.
func TestMaxAddIsAtLeastQuiet(t *testing.T) {
	for quiet, want := range map[time.Duration]time.Duration{0: time.Second, time.Millisecond: time.Second, time.Minute: time.Minute} {
		if got := (Options{Quiet: quiet}).withDefaults().MaxAdd; got != want {
			t.Errorf("Quiet %s: MaxAdd is %s, want %s", quiet, got, want)
		}
	}
}
