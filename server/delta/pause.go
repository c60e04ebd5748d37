package delta

import "github.com/gatefold/gatefold/translate/xds"

// A search for thousands of bad routes takes seconds, and no edit reaches the route table during the search. So
// the search pauses after some probes. The Envoy then gets the edits of all hosts, but hosts with unknown or
// bad parts stay as the Envoy serves them now (xds.Frozen). The search continues after any answer. It pauses
// again if the target changed since, and ends if the target has none of the bad parts any more.

// pauseAfter is how many probes a search sends before it pauses. The count starts again after each pause.
const pauseAfter = 256

// pauses reports whether the search for bad parts (parts of a route table that the Envoy rejects) must pause now.
// The search sends test tables (probes), and the Envoy gets no edits meanwhile. During a pause, the Envoy gets the
// edits in the newest route table (the parameter target). A search pauses after pauseAfter probes, but not twice for
// the same target.
func (s *search) pauses(target *Entry) bool {
	return s.suspects != nil && !s.over && s.probes >= pauseAfter && s.shown != target
}

// pause interrupts the search for bad parts in the route table with the given name (see pauses). It returns false if
// yield returned false. The parameter target is the newest version of the table. pause stores the table to send next
// in ts.states[name].ready. This is the target as amend changes it, except that the hosts that the search is not
// finished with (see unsettled) stay as the Envoy serves them now (xds.Frozen). There are two special cases:
//   - If the Envoy already has this table, there is nothing to send in a pause. pause stores the next probe instead.
//   - If the target has none of the suspected parts any more, pause ends the search, and changes no hosts.
func (ts *tables) pause(yield func(Step) bool, name string, target *Entry) bool {
	t := ts.states[name]
	if !ts.amend(yield, name, target) {
		return false
	}
	s := t.search
	s.shown, s.probes = target, 0
	hosts := s.unsettled(t.ready)
	if len(hosts) == 0 { // the target has none of the suspected parts any more
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

// unsettled returns the virtual hosts of a route table that the search is not finished with: hosts with a part (such
// as a route) that the search found to be bad, or has not tested yet. It ignores a part that has changed in the
// table since the search began.
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
