package delta

import "github.com/gatefold/gatefold/translate/xds"

// A search for thousands of bad routes takes seconds, and no edit reaches the route table during the search. So
// the search pauses after some probes. The Envoy then gets the edits of all hosts, but hosts with unknown or
// bad parts stay as the Envoy serves them now (xds.Frozen). The search continues after any answer. It pauses
// again if the target changed since, and ends if the target has none of the bad parts any more.

// pauseAfter is how many probes a search sends before it pauses. The count starts again after each pause.
const pauseAfter = 256

// pauses reports whether the search for bad parts (parts of a route table that the Envoy rejects) must pause now.
// During the pause, the Envoy gets the edits of the parameter target, which is the newest route table. A search
// pauses after pauseAfter probes (test tables), but not twice for the same target.
func (s *search) pauses(target *Entry) bool {
	return s.suspects != nil && !s.over && s.probes >= pauseAfter && s.shown != target
}

// pause begins a pause of the search for bad parts in the route table with the given name. The parameter target is
// the newest version of the table. pause stores the table that the Envoy gets during the pause in
// ts.states[name].ready: the form of the target that amend makes, in which unsettled hosts stay as the Envoy serves
// them now (xds.Frozen). If the Envoy already has such a table, pause stores the next probe instead. If the target
// has none of the suspected parts any more, pause ends the search. It returns false if yield returned false.
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

// unsettled returns the virtual hosts of a route table with which the search is not finished. In such a host, the
// search found a part (such as a route) to be bad, or has not tested a part yet. A host counts only if this part has
// not changed in the table since the search began.
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
