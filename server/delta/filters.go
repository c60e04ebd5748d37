package delta

import (
	"slices"
	"strings"
	"weak"

	"github.com/gatefold/gatefold/translate/xds"
)

// A JWT filter is one resource with all requirements that routes can name. If a route names a requirement that
// the Envoy does not have, the route answers 403. So for each stream
//
//   - a route table that names a requirement waits while the filter is due or unanswered (awaitsFilter);
//   - a filter that replaces another also contains the old requirements (Entry.grown), which are removed after
//     the Envoy accepted all routes (trim);
//   - a requirement that the Envoy rejects is left out, so that the others are served (learnFilter).

// awaitsFilter reports whether a route table must wait, because a route of the table names a JWT requirement and
// such tables may not be sent yet (see filtered). e is the form of the table that would be sent; nil if the table is
// removed. The result is false for all other resource types.
func (s *stream) awaitsFilter(l *ledger, e *Entry) bool {
	return l.typ == xds.RouteType && e != nil && !s.filtered() && e.requires()
}

// requires reports whether the entry is a route table in which a route names a requirement (of the JWT filter).
// It computes this once. The caller has locked the lock of the targets.
func (e *Entry) requires() bool {
	if !e.searched {
		e.searched, e.naming = true, xds.NamesRequirement(e.Body)
	}
	return e.naming
}

// filtered reports whether route tables that name JWT requirements may be sent. They may be sent after every JWT
// filter was sent, and the Envoy answered each of them. There is one other case: the Envoy has not requested any JWT
// filter, so that its listeners have none. If the target has JWT requirements, filtered then returns false, because
// the routes would be open.
func (s *stream) filtered() bool {
	if l := s.ledgers[xds.FilterType]; l != nil {
		return l.idle()
	}
	return !s.options.Envoy || !s.target.requires()
}

// requires reports whether any JWT filter has requirements.
func (s *Snapshot) requires() bool {
	for e := range s.kinds[xds.FilterType].entries.All() {
		if len(xds.Requirements(e.Body)) > 0 {
			return true
		}
	}
	return false
}

// filter returns the JWT filter to send to this stream's Envoy. It is the filter target, without the requirements
// that this Envoy rejects, and with the old requirements that routes of this Envoy may still name.
func (ts *tables) filter(target *Entry) *Entry {
	t := ts.tableOf(xds.FilterType, target.Name)
	if t.ready == nil || t.readyFor != target {
		ts.clearChanged(t, target)
		t.ready, t.readyFor = target.filterWith(t.accepted, t.rejected), target
	}
	return t.ready
}

// clearChanged forgets that the Envoy rejected a requirement of a JWT filter, if the target's filter has another
// form of the requirement, or no longer has it. The changed requirement is then sent. t is the state of the
// filter.
func (ts *tables) clearChanged(t *tableState, target *Entry) {
	if len(t.rejected) == 0 {
		return
	}
	now := map[xds.Part]xds.Fault{}
	for _, r := range xds.Requirements(target.Body) {
		now[r.Part] = xds.Fault{Sum: r.Sum()}
	}
	for part, rejected := range t.rejected {
		if now[part] != rejected.Fault {
			ts.clearRejected(target.Name, part)
		}
	}
}

// filterWith returns the JWT filter e without the requirements in the map rejected, and with the requirements that
// the filter older has and e lacks. Usually, older is the filter that the Envoy has now: the Envoy's routes may still
// name those requirements. older may be nil. If the result would not differ from e, filterWith returns e itself. If
// the map rejected is empty, all streams with the same older filter get the same Entry.
func (e *Entry) filterWith(older *Entry, rejected map[xds.Part]*RejectedPart) *Entry {
	if len(rejected) > 0 || older == nil {
		return e.newFilter(older, rejected)
	}
	e.forms.mu.Lock()
	defer e.forms.mu.Unlock()
	key := weak.Make(older)
	if made := e.forms.grown[key].Value(); made != nil {
		return made
	}
	if e.forms.grown == nil {
		e.forms.grown = map[weak.Pointer[Entry]]weak.Pointer[Entry]{}
	}
	made := e.newFilter(older, rejected)
	e.forms.grown[key] = weak.Make(made)
	return made
}

// newFilter makes a new form (variant) of the JWT filter e, for filterWith: without the rejected requirements, and
// with the requirements that only the filter older has. older may be nil.
func (e *Entry) newFilter(older *Entry, rejected map[xds.Part]*RejectedPart) *Entry {
	leftOut, grown := map[xds.Part]bool{}, false
	var all []xds.Requirement
	known := map[xds.Part]bool{}
	for _, r := range xds.Requirements(e.Body) {
		known[r.Part] = true
		if rejected[r.Part] != nil {
			leftOut[r.Part] = true
			continue
		}
		all = append(all, r)
	}
	if older != nil {
		for _, r := range xds.Requirements(older.Body) {
			if !known[r.Part] {
				grown = true
				all = append(all, r)
			}
		}
	}
	if !grown && len(leftOut) == 0 {
		return e
	}
	resource := xds.RequirementFilter(all)
	resource.Name = e.Name
	made := NewEntry(&resource)
	made.of, made.leftOut, made.grown = e, leftOut, grown
	return made
}

// trim handles the next name in l.gone if it is a JWT filter that the target still has. Such a name is in l.gone
// because the Envoy's form of the filter also has old requirements: these must go, but the filter stays. trim then
// removes the name from l.gone. It returns a response that has the filter without the old requirements, and true. The
// response is nil if the Envoy already has this form. In all other cases, trim changes nothing, and returns nil and
// false.
func (ts *tables) trim(l *ledger) (r *Response, trimmed bool) {
	name, waits := l.gone.peek()
	target := ts.target.Entry(l.typ, name)
	if l.typ != xds.FilterType || !waits || target == nil {
		return nil, false
	}
	l.gone.drop(name)
	t := ts.tableOf(l.typ, name)
	t.ready, t.readyFor = target.filterWith(nil, t.rejected), target
	if has := l.held.get(name); has != nil && has.Version == t.ready.Version {
		return nil, true
	}
	return &Response{Type: l.typ, Set: []*Entry{t.ready}}, true
}

// learnFilter records an answer to a response with JWT filters. nack is true for a rejection, and words is Envoy's
// error. After an ACK, learnFilter stores the accepted form of each filter. It learns from a rejection only if the
// response has a single filter, and the target's filter has not changed since the response was sent. In this case, it
// records which requirements are bad (see faults). If any are bad, it marks the filter to be sent again without them.
func (ts *tables) learnFilter(l *ledger, r *Response, nack bool, words string) {
	for _, e := range r.Set {
		t := ts.tableOf(l.typ, e.Name)
		if !nack {
			t.accepted, t.ready = e, nil
			continue
		}
		if !ts.searches || r.Names() != 1 || ts.target.Entry(l.typ, e.Name) != e.source() {
			continue
		}
		faults := e.faults(t.accepted, words)
		for _, fault := range faults {
			ts.noteRejected(&RejectedPart{Table: e.Name, Part: fault.Part, Fault: xds.Fault{Sum: fault.Sum()}, in: t, Words: words})
		}
		if len(faults) > 0 {
			t.ready = nil
			l.rejected.remove(e.Name)
			l.look(e.Name)
		}
	}
}

// faults returns the requirements of the JWT filter e that are to blame for Envoy's rejection. If the error
// (words) names JWT providers, these are the requirements that use them. Otherwise they are the requirements
// that are new or changed compared with the previous filter (before, which may be nil).
func (e *Entry) faults(before *Entry, words string) (named []xds.Requirement) {
	all, held := xds.Requirements(e.Body), map[xds.Part]string{}
	if before != nil {
		for _, r := range xds.Requirements(before.Body) {
			held[r.Part] = string(r.Body)
		}
	}
	for _, r := range all {
		if strings.Contains(words, "'"+r.Requirement+"/") {
			named = append(named, r)
		}
	}
	if len(named) > 0 {
		return named
	}
	return slices.DeleteFunc(all, func(r xds.Requirement) bool { return held[r.Part] == string(r.Body) })
}

// joined returns a filter with the requirements of those that several Gateways have.
func joined(filters []*Entry) *Entry {
	all := filters[0]
	for _, e := range filters[1:] {
		all = all.filterWith(e, nil)
	}
	return NewEntry(all.Resource)
}
