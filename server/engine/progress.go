package engine

import (
	"time"

	"github.com/rs/zerolog"
)

// progressEvery is the time between two log lines about a folder that takes long to read.
const progressEvery = 3 * time.Second

// progress logs how many documents are read, and when all are read. It logs nothing if reading takes less than
// progressEvery.
type progress struct {
	log  zerolog.Logger
	now  func() time.Time
	next time.Time // when the next line is logged; zero while nothing is read
	told bool      // a line was logged
}

// note is store.Options.Progress. The first parameter is the number of documents that are read, and the second
// is the number of all documents.
func (p *progress) note(done, of int) {
	now := p.now()
	switch {
	case done == of:
		if p.told {
			p.log.Info().Int("documents", of).Msg("read; making routes of them")
		}
		p.next, p.told = time.Time{}, false
	case p.next.IsZero():
		p.next = now.Add(progressEvery)
	case !now.Before(p.next):
		p.next, p.told = now.Add(progressEvery), true
		p.log.Info().Int("documents", done).Int("of", of).Msg("reading")
	}
}
