package delta

import (
	"strings"

	"github.com/gatefold/gatefold/translate/xds"
)

// search finds the parts of a table that an Envoy rejects, among those that changed. Each step is a
// probe (xds.Probe) with a window of the suspects. The Envoy rejects every probe, so that what it
// serves does not change, and its message shows whether the window is good. A bad window is halved.
// After each bad part, the window grows again from one part. So the search takes about two
// logarithms of the distance for each bad part, and never more than three probes for each suspect.
type search struct {
	of    *Entry // the table that was rejected
	words string // with which it was rejected
	*suspects
	from int // all before are known
	bad  int // there is a fault in pieces[from:bad], if bad > from
	step int // size of the next window, where no fault is known
	// mark reports that the client named the mark of a probe without suspects. One that does not
	// answers otherwise than an Envoy: nothing can be found.
	mark, over bool
	found      []found
	probes     int    // since the last pause
	shown      *Entry // the target of that: see tables.pause
}

// found is a part that Envoy rejects, with Envoy's message.
type found struct {
	*xds.Piece
	words string
}

// begin sets the suspects of the search.
func (s *search) begin(among *suspects) {
	s.suspects, s.bad, s.step = among, len(among.pieces), 1
}

// window returns the bounds of the next probe's parts. The first probe has none.
func (s *search) window() (from, to int) {
	if !s.mark {
		return 0, 0
	}
	size := s.step
	if s.bad > s.from {
		size = max(1, (s.bad-s.from)/2)
	}
	return s.from, min(s.from+size, len(s.pieces))
}

// answer processes Envoy's message about the probe of window.
func (s *search) answer(words string) {
	s.probes++
	from, to := s.window()
	sound := strings.Contains(words, xds.ProbeMark)
	switch {
	case !s.mark:
		s.mark = sound
		s.over = !sound
	case sound:
		if s.from = to; s.bad <= to {
			s.step *= 2
		}
	case to-from > 1:
		s.bad = to
	default:
		s.found = append(s.found, found{&s.pieces[from], words})
		s.from, s.step = to, 1
	}
	s.over = s.over || s.from == len(s.pieces)
}
