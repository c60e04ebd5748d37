package cli

import (
	"time"

	"github.com/rs/zerolog"
)

// progressEvery is the time between two lines about a folder that takes long to read.
const progressEvery = 3 * time.Second

// progress tells how far the reading of many documents has come. What is read sooner
// than the first line is due is not told of.
type progress struct {
	log  zerolog.Logger
	now  func() time.Time
	next time.Time // when a line is due; zero while nothing is read
}

// note is store.Options.Progress.
func (p *progress) note(done, of int) {
	now := p.now()
	switch {
	case done == of:
		p.next = time.Time{}
	case p.next.IsZero():
		p.next = now.Add(progressEvery)
	case !now.Before(p.next):
		p.next = now.Add(progressEvery)
		p.log.Info().Int("documents", done).Int("of", of).Msg("reading")
	}
}
