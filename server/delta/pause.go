package delta

import "github.com/gatefold/gatefold/translate/xds"

// A search for thousands of bad routes takes seconds, and nobody's edits reach the table meanwhile. So it
// pauses after some probes: the Envoy is sent the table in which the hosts that have unknown or bad parts
// stay as it serves them, and all others are as in the target (xds.Frozen). Whatever it answers, the
// search goes on. It pauses again for a target that came later, and ends if that has none of the parts.

// pauseAfter is the number of probes of a search, or since its last pause, after which it pauses.
const pauseAfter = 256

// pauses reports whether the search of a table is to pause for this target.
func (s *search) pauses(target *Entry) bool {
	return s.suspects != nil && !s.over && s.probes >= pauseAfter && s.shown != target
}

// pause makes the table for a pause of its search. If the Envoy already has that table, it makes
// the next probe.
func (ts *tables) pause(yield func(Step) bool, name string, target *Entry) bool {
	t := ts.states[name]
	if !ts.amend(yield, name, target) {
		return false
	}
	s := t.search
	s.shown, s.probes = target, 0
	hosts := s.unsettled(t.ready)
	if len(hosts) == 0 { // the target has none of the suspects any more
		return yield(Step{Book: func() { t.search = nil }})
	}
	var before []byte
	if t.accepted != nil {
		before = t.accepted.Body
	}
	made, differs := xds.Frozen(t.ready.Resource, before, hosts)
	if t.pausing = differs; differs {
		t.ready = NewEntry(&made)
	} else {
		t.ready = s.probe(s.window())
	}
	return true
}

// unsettled returns the hosts of a table with bad parts, or with parts that the search has not
// reached.
func (s *search) unsettled(table *Entry) map[string]bool {
	now, hosts := map[xds.Part]string{}, map[string]bool{}
	for _, piece := range xds.Pieces(table.Body) {
		now[piece.Part] = string(piece.Body)
	}
	note := func(piece *xds.Piece) {
		if body, is := now[piece.Part]; is && body == string(piece.Body) {
			hosts[piece.Host] = true
		}
	}
	for i := range s.pieces[s.from:] {
		note(&s.pieces[s.from+i])
	}
	for _, f := range s.found {
		note(f.Piece)
	}
	return hosts
}
