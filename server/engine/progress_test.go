package engine

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// A long reading is told of every few seconds, a short one not at all.
func TestProgressIsTold(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(1000, 0)
	p := &progress{log: zerolog.New(&log), now: func() time.Time { return now }}
	p.note(1, 1) // an edit
	for range 2 {
		for done := 1; done <= 10_000; done += 100 { // of 10 s
			p.note(done, 10_000)
			now = now.Add(100 * time.Millisecond)
		}
		p.note(10_000, 10_000)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 4 || !strings.Contains(lines[0], `"documents":3001,"of":10000`) || !strings.Contains(lines[3], `"documents":10000,"message":"read`) {
			t.Errorf("told:\n%s", log.String())
		}
		log.Reset()
		now = now.Add(time.Hour)
	}
	for range 100 {
		p.note(1, 2)
		p.note(2, 2)
		now = now.Add(time.Hour)
	}
	if log.Len() > 0 {
		t.Errorf("of edits:\n%s", log.String())
	}
}
