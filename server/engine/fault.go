package engine

import (
	"errors"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// take translates a Change. If gatefold itself fails at that, what it fails at is taken back or replaced, and everything
// else goes on (without). The error is errLost if that does not help. Any other error means that it was interrupted.
func (p *pipeline) take(r *run, change store.Change) error {
	err := p.translation.take(change)
	for isMistake(err) {
		p.reportMistake(r, err)
		next, found := p.without(r, err)
		if !found {
			p.translation.phase = ahead
			return errLost
		}
		err = p.translation.take(next)
	}
	return err
}

// without returns the Change after which the translation goes on without what gatefold fails at:
//   - An edit of an object that serves is held, so that the version before it stays served.
//   - Any other object is replaced (translation.replace).
//   - If the mistake names no object, as in what depends on many, all edits of the run are held together. If there are
//     none, and nothing was published yet, the Gateway is replaced, if the mistake names one.
//
// It returns false if nothing of that is left to do.
func (p *pipeline) without(r *run, err error) (next store.Change, found bool) {
	edits := map[manifest.Key]store.Edit{}
	for _, e := range p.reader.store.Edits() {
		edits[e.Key] = e
	}
	f := new(translate.Fault)
	_ = errors.As(err, &f)
	held, replaced := []store.Edit(nil), []manifest.Key(nil)
	for _, key := range f.Objects {
		switch e, isEdit := edits[key]; {
		case isEdit && e.Before != nil:
			held = append(held, e)
		case p.translation.replace(key, p.reader.store.Served(key)):
			replaced = append(replaced, key)
		}
	}
	what := "gatefold could not translate this edit"
	if len(held)+len(replaced) == 0 {
		held, what = slices.Collect(maps.Values(edits)), "gatefold could not apply the edits of this revision together"
	}
	if len(held)+len(replaced) == 0 && !p.published && p.translation.replace(f.Gateway, p.reader.store.Served(f.Gateway)) {
		replaced = append(replaced, f.Gateway)
	}
	if r.faulty == nil {
		r.faulty = map[manifest.Key]store.Held{}
	}
	for _, e := range held {
		r.faulty[e.Key] = p.notApplied(e, []manifest.Problem{{
			Code: store.InternalError, Severity: manifest.Error, Object: e.Key,
			Message: what + ", which is a mistake in gatefold; the edit is not applied, and " + meanwhile(e),
			Hint:    mistakeHint,
		}})
	}
	if len(held) > 0 {
		next = p.holdBack(r, r.frozen)
	}
	for _, key := range replaced {
		next.Set = append(next.Set, p.reader.store.Served(key))
	}
	return next, len(held)+len(replaced) > 0
}

// notApplied returns an edit as one that is not applied because of some problems. The edit must be applied still, so that
// the problems have places.
func (p *pipeline) notApplied(e store.Edit, problems []manifest.Problem) store.Held {
	problems = p.reader.store.LocateApart(problems)
	place := store.Place{File: problems[0].File, Line: problems[0].Line, Column: problems[0].Column}
	return store.Held{Reason: store.Reason{Place: place, Message: problems[0].Message}, Candidate: e.After, Problems: problems}
}

// hold makes the run continue without what is frozen (holdBack). The error is that of take.
func (p *pipeline) hold(r *run, frozen store.Frozen) (err error) {
	change := p.holdBack(r, frozen)
	r.time("translate", func() { err = p.take(r, change) })
	return err
}

// holdBack freezes objects, and the edits of the run at which gatefold fails, and returns what this changes.
// If the parameter frozen has no single edits, those that are held now stay held.
func (p *pipeline) holdBack(r *run, frozen store.Frozen) store.Change {
	if frozen.Held == nil {
		frozen.Held = p.reader.store.Held()
	}
	r.frozen = frozen
	if len(r.faulty) > 0 {
		all := map[manifest.Key]store.Held{}
		maps.Copy(all, frozen.Held)
		maps.Copy(all, r.faulty)
		frozen.Held = all
	}
	change := p.reader.freeze(frozen, p.tree.Root)
	if p.gate != nil {
		change.Problems = p.gate.warned(change.Problems, p.tree.Root)
	}
	r.change.Problems, r.change.Stale = change.Problems, change.Stale
	return change
}

// reportMistake logs that a step of a run cannot be done with everything that the folder has.
func (p *pipeline) reportMistake(r *run, err error) {
	describeMistake(p.log.Error().Str("step", r.step), err).
		Msg("a mistake in gatefold: what it fails at is not applied; please report it")
}
