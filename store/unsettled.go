package store

import (
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
)

// settleSafely decides which version of an object is served, by settle and settleInvalid. If settle or
// settleInvalid panics, only this object is affected: restorePrevious restores the version that was served, and
// records a problem.
func (s *serving) settleSafely(key manifest.Key, now time.Time, change *Change) {
	before, serving := s.served[key]
	set, gone, invalid := len(change.Set), len(change.Gone), len(change.Invalid)
	defer func() {
		if recover() == nil {
			return
		}
		change.Set, change.Gone, change.Invalid = change.Set[:set], change.Gone[:gone], change.Invalid[:invalid]
		s.restorePrevious(key, before, serving, PanickedAt(maxMistakePlaces), change)
	}()
	if _, mistaken := s.mistakes[key]; mistaken {
		delete(s.mistakes, key)
		s.fresh.sure = false
	}
	s.settle(key, now, change)
	s.settleInvalid(key, change)
}

// restorePrevious undoes a decision of settleSafely that panicked, and records a problem. The decision is made again
// with the next Tree. The parameter serving says whether a version of the object was served until now. If it is true,
// that version (the parameter before) is served again. If it is false, closeUnsettled adds an Invalid for the first
// definition of the object in the folder. The parameter places has the places in gatefold's code at which the panic
// happened.
func (s *serving) restorePrevious(key manifest.Key, before served, serving bool, places []string, change *Change) {
	p := manifest.Problem{
		Code: InternalError, Severity: manifest.Error, Object: key, Hint: ReportHint,
		Message: "gatefold could not apply this object, which is a mistake in gatefold (at " + strings.Join(places, " < ") + ")",
	}
	if d := s.firstFound(key); d != nil {
		p.File, p.Line, p.Column = d.file.path, d.line(), d.place.column
		if !serving {
			s.closeUnsettled(d.object, p.Message, change)
		}
	}
	s.fresh.sure = false
	delete(s.contested, key)
	if delete(s.served, key); serving {
		s.served[key] = before
		if before.kept != nil {
			s.keep(key, before, before.path(), before.since())
		}
		p.Message += "; what was served before is still served"
	}
	s.mistakes[key] = p
	s.unsettled[key] = struct{}{}
}

// closeUnsettled adds an Invalid to change for the object o, which could not be served because of a panic. The
// Invalid has the given message. closeUnsettled adds nothing if the Invalid would have no effect (Withhold returns
// nil).
func (s *serving) closeUnsettled(o *manifest.Object, message string, change *Change) {
	if invalid := Withhold(o, message); invalid != nil {
		s.history.rememberInvalid(o.Key, s.invalid[o.Key])
		s.invalid[o.Key] = invalid
		change.Invalid = append(change.Invalid, invalid)
	}
}
