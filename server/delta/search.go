package delta

import (
	"strings"

	"github.com/gatefold/gatefold/translate/xds"
)

// search finds the parts of a route table that an Envoy rejects, among the changed parts. Each step is a probe:
// a test table (xds.Probe) with a window of the suspected parts. The Envoy rejects every probe, so that what it
// serves does not change, and its error shows whether all parts in the window are good. A bad window is halved.
// After each bad part, the window grows again from one part. So the number of probes for each bad part is about
// twice the logarithm of its distance from the last bad part. There are never more than three probes for each
// suspected part.
type search struct {
	of    *Entry // the table that Envoy rejected
	words string // Envoy's error about that table
	// suspects is nil until begin.
	*suspects
	from int // the parts before this index are known to be good or bad
	bad  int // if bad > from, at least one of pieces[from:bad] is bad
	step int // the size of the next window, if no part in it is known to be bad
	// mark is true if the client's error about the first probe, which has no parts, contained xds.ProbeMark. If it
	// did not, the client does not check route tables like Envoy, so that nothing can be found. over is true if
	// the search has ended.
	mark, over bool
	found      []found
	// Between probes, the search sometimes pauses, so that the Envoy gets edits (see tables.pause). probes counts the
	// probes since the last pause. shown is the newest version of the route table when the last pause began.
	probes int
	shown  *Entry
}

// found is a part that a search found to be bad, with Envoy's error about it.
type found struct {
	*xds.Piece
	words string
}

// begin starts the search among the given parts of the route table, all of which may be bad.
func (s *search) begin(among *suspects) {
	s.suspects, s.bad, s.step = among, len(among.pieces), 1
}

// window returns the parts that the next probe (a test table) contains, as indexes into s.pieces: s.pieces[from:to].
// The first probe of a search contains no part: it tests whether the client checks route tables like Envoy.
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

// answer records Envoy's error about the last probe. The parameter words is the text of the error. A probe has the
// parts that window returned, and after them a route that every Envoy rejects (see xds.Probe). Envoy reports only
// the first fault. So if words contains xds.ProbeMark, a text of that last route, Envoy accepts all of the parts.
// Otherwise at least one part is bad. If the probe has only one part, answer adds this part to s.found.
//
// answer sets s.over when every part is known to be good or bad. It also sets s.over if the error about the first
// probe, which has no parts, does not contain xds.ProbeMark: then the client does not check tables like Envoy.
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
