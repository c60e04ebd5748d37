package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// The bounds of the search in one Change. After a bound is reached, objects that fail together are withheld
// together, without a further search.
const (
	maxTries = 2000 // tries of parts; a search for one object among 100,000 needs 34
	maxSlow  = 40   // tries that exceeded their deadline; a search for one object among 100,000 needs 17
)

// isolation is the search for the objects of a store.Change that cannot be applied because gatefold itself fails:
// with one of these objects, the translator panics or takes too long.
type isolation struct {
	*translation
	changes map[manifest.Key]bool             // the objects of the Change
	former  map[manifest.Key]*manifest.Object // the served versions of the objects of the Change
	taken   []part                            // the parts that are applied so far
	tries   int
	slow    int // tries that exceeded their deadline
}

// isolate applies a Change that could not be applied as a whole. It finds the objects that are the cause, and
// applies a replacement of each. The parameter parts has the changes of the single objects. If it is empty, the
// cause is another input, and isolate calls distrust. The parameter cause is the error for the whole Change. If
// isolate returns an error, nothing of the Change is applied.
func (t *translation) isolate(parts []part, cause error) error {
	i := &isolation{translation: t, former: map[manifest.Key]*manifest.Object{}, changes: map[manifest.Key]bool{}}
	for _, part := range parts {
		i.changes[part.key] = true
		if former := t.former(part.key); former != nil {
			i.former[part.key] = former
		}
	}
	if err := i.rewind(); err != nil {
		return err
	}
	if len(parts) == 0 {
		return i.distrust()
	}
	return i.divide(parts, cause)
}

// former returns the served version of an object. It returns nil if the object is not served, or if a replacement is
// served because gatefold failed to translate the object. A new translator has no version of the object yet; then
// former returns the served version that the store remembers (Store.Former).
func (t *translation) former(key manifest.Key) *manifest.Object {
	if _, closed := t.withheld.substitutes[key]; closed {
		return nil
	}
	if former := t.translator.Former(key); former != nil {
		return former
	}
	return t.reader.store.Former(key).Object
}

// divide searches by bisection for the objects that cannot be applied. It applies the first half of parts, then
// the second half, and calls itself with a half that fails. A single object that fails is withheld: a replacement
// is applied. After maxTries attempts or maxSlow slow ones, all objects of parts are withheld without a search.
// The parameter cause is the error for all of parts together. The error that divide returns is errLost, or means
// that gatefold stops.
func (i *isolation) divide(parts []part, cause error) error {
	if len(parts) == 1 || i.tries >= maxTries || i.slow >= maxSlow {
		for _, part := range parts {
			if err := i.withhold(part, cause); err != nil {
				return err
			}
		}
		return nil
	}
	half := len(parts) / 2
	for _, some := range [][]part{parts[:half], parts[half:]} {
		switch err := i.try(some); {
		case err == nil:
		case !blamable(err):
			return err
		default:
			if err := i.divide(some, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// try applies the changes of some objects together, and counts the attempt. If it returns an error, it has undone
// the changes, and the translator is as before. There are two exceptions: if try returns errLost, or if gatefold
// stops, the changes may still be in the translator.
func (i *isolation) try(parts []part) error {
	i.tries++
	err := i.attempt(joined(parts), partDeadline, false)
	if err == nil {
		i.taken = append(i.taken, parts...)
		return nil
	}
	if errors.Is(err, errOverdue) {
		i.slow++
	}
	if blamable(err) {
		if lost := i.rewind(); lost != nil {
			return lost
		}
	}
	return err
}

// rewind undoes an attempt that failed. Afterwards, the translator has only those changes of objects that were
// applied with success before (i.taken). It returns errLost if that is not possible. Another error means that
// rewind itself was interrupted.
func (i *isolation) rewind() error {
	if i.translator.Revert() {
		return nil
	}
	i.renew()
	all := i.withheld.filter(i.reader.all())
	kept := all
	kept.Set = slices.DeleteFunc(slices.Clone(all.Set), func(o *manifest.Object) bool { return i.changes[o.Key] })
	kept.Invalid = slices.DeleteFunc(slices.Clone(all.Invalid), func(o *store.Invalid) bool { return i.changes[o.Key] })
	for _, former := range i.former {
		kept.Set = append(kept.Set, former)
	}
	err := i.attempt(kept, runDeadline, false)
	if err == nil {
		i.translator.Settle() // kept is what served
		err = i.attempt(joined(i.taken), runDeadline, false)
	}
	if blamable(err) {
		i.reportMistake("translate", err, kept)
		return errLost
	}
	return err
}

// distrust is called if a translation fails although no object has changed. Then the cause is another input: what
// Envoys rejected, or the answers of OpenID issuers. distrust goes back to the inputs that were published last.
// It returns errLost if the translation still fails. Another error means that the attempt was interrupted.
func (i *isolation) distrust() error {
	i.translator.Quarantine(i.trusted)
	i.translator.Discover(i.answered)
	err := i.attempt(store.Change{}, runDeadline, false)
	if blamable(err) {
		return errLost
	}
	i.rejected, i.issuers = i.trusted, i.answered
	return err
}

// withhold applies a replacement of an object that cannot be translated. The parameter bad is the change of the
// object, and the parameter cause is the error of the translation. The method withheld.instead returns a list of
// replacements, and withhold applies the first of them that the translator accepts. If it accepts none, the object
// counts as removed.
//
// If neither bad.set nor bad.gone is set, the change neither sets nor removes the object, and withhold does
// nothing. If withhold returns an error, the error is errLost, or gatefold is stopping.
func (i *isolation) withhold(bad part, cause error) error {
	w := &withheld{object: bad.set, former: i.former[bad.key], slow: errors.Is(cause, errOverdue), since: time.Now()}
	if since := i.reader.store.Former(bad.key).Since; !since.IsZero() {
		w.since = since
	}
	if bad.set == nil && !bad.gone {
		return nil // only the status and the effect on its targets are missing for an invalid object
	}
	for _, instead := range w.instead(bad.key) {
		switch err := i.try([]part{instead}); {
		case err == nil:
			if w.inForce = instead; instead.set != w.former {
				w.former = nil
			}
			i.withheld.add(bad.key, w)
			return nil
		case !blamable(err):
			return err
		}
	}
	w.former, w.inForce = nil, part{key: bad.key, gone: true}
	i.withheld.add(bad.key, w)
	return nil
}

// instead returns what may be applied in place of an object that cannot be translated, the best first: its last
// valid version, a copy of a route without backends (translate.Closed), the object marked as invalid
// (store.Withhold), and at last the removal of the object.
func (w *withheld) instead(key manifest.Key) (all []part) {
	if w.former != nil {
		all = append(all, part{key: key, set: w.former})
	}
	if w.object != nil {
		if closed := translate.Closed(w.object); closed != nil {
			all = append(all, part{key: key, set: closed})
		}
		if invalid := store.Withhold(w.object, w.cause()+"; please report it"); invalid != nil {
			all = append(all, part{key: key, gone: true, invalid: invalid})
		}
	}
	return append(all, part{key: key, gone: true})
}
