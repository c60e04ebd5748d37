package engine

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/status"
)

// maxJudgements bounds how often one revision is translated to find the edits that take no effect.
const maxJudgements = 16

// judging decides which edits of a run take effect. All edits are applied on trial at first. Those with an error are taken
// back, and the rest is translated again, until no edit has an error.
//
// An edit whose error is there without it, too, is applied after all: somebody else brought the error, for example who
// removed a Secret. It ends, because a unit goes from candidate over live to forced, and back to candidate only once
// (tryAgain). It depends on no order, because each round moves all units of which it is true.
type judging struct {
	*pipeline
	run      *run
	edits    []store.Edit
	scope    scope
	units    []*unit
	idle     bool                              // no held edit is tried again
	kept     map[manifest.Key]store.Held       // edits that stay held without a trial
	before   map[manifest.Key]map[string]bool  // errors of what was served, of objects with an edit
	notes    map[manifest.Key]store.Held       // what is told of edits that were taken back
	contents map[manifest.Key]*manifest.Object // edited Secrets and ConfigMaps, as they are after it
	closed   map[manifest.Key]string           // new routes that stay closed without a trial, with for whom they wait

	renamed map[manifest.Key]manifest.Key // routes and policies that get another name (renamesAmong)

	member map[manifest.Key]*unit                           // the unit of each edit
	errors map[manifest.Key][]manifest.Problem              // errors of the present round, of objects with an edit
	users  map[manifest.Key]map[manifest.Key]*status.Update // what usersOfContents returned last
}

// tryEdits decides which edits of a run take effect, and takes the others back. The error means that it was interrupted.
func (p *pipeline) tryEdits(r *run) error {
	if r.change.Hold != "" {
		return nil
	}
	j := &judging{
		pipeline: p, run: r, scope: p.scopeOf(r), kept: map[manifest.Key]store.Held{}, notes: map[manifest.Key]store.Held{},
		closed: map[manifest.Key]string{}, member: map[manifest.Key]*unit{},
	}
	if err := j.begin(); err != nil {
		return err
	}
	if err := j.rounds(); err != nil {
		return err
	}
	if j.tryAgain() {
		if err := j.apply(); err != nil {
			return err
		}
		if err := j.rounds(); err != nil {
			return err
		}
	}
	held := j.reader.store.Held()
	if !j.idle || len(r.faulty) > 0 || slices.ContainsFunc(j.units, func(u *unit) bool { return u.stage == live }) {
		p.versions.settle(held, p.translation.withheld.closed())
	}
	if len(held) > 0 {
		isHeld := func(key manifest.Key) bool { _, ok := held[key]; return ok }
		r.change.Set = slices.DeleteFunc(slices.Clone(r.change.Set), func(o *manifest.Object) bool { return isHeld(o.Key) })
		r.change.Gone = slices.DeleteFunc(slices.Clone(r.change.Gone), isHeld)
	}
	p.last = store.Change{Problems: r.change.Problems, Stale: r.change.Stale}
	return nil
}

// rounds takes edits back until none has an error.
func (j *judging) rounds() error {
	for number := 0; len(j.units) > 0; number++ {
		if more, err := j.round(number); err != nil || !more {
			return err
		}
	}
	return nil
}

// tryAgain makes units candidates once more that were taken back because of errors of others: each of their errors names
// an edited object of another unit that is taken back. It reports whether there are such units.
func (j *judging) tryAgain() bool {
	var again []*unit
	named := map[string][]*unit{}
	for _, u := range j.units {
		if u.stage == live {
			for _, e := range u.edits {
				named[e.Key.Name] = append(named[e.Key.Name], u)
			}
		}
	}
	for _, u := range j.units {
		if u.stage == live && u.failed.IsZero() && !u.fixed && u.blamesOthers(named) {
			again = append(again, u)
		}
	}
	for _, u := range again {
		u.stage, u.noted = candidate, nil
	}
	return len(again) > 0
}

// begin puts the edits on trial: new ones, and held ones to which something of this run may matter.
func (j *judging) begin() error {
	held := j.reader.store.Held()
	again, waiting := false, []store.Edit(nil)
	if j.idle = j.versions.idle(j.scope, len(held)-len(j.run.faulty)); j.idle {
		j.kept, j.closed = held, j.versions.closed
		j.put(nil)
		return nil
	}
	for key, waits := range j.versions.closed {
		switch now := j.reader.store.Served(key); {
		case now == nil:
		case j.concerns(key):
			again, waiting = true, append(waiting, store.Edit{Key: key, After: now})
		default:
			j.closed[key] = waits
		}
	}
	for key, one := range held {
		if _, faulty := j.run.faulty[key]; !faulty && j.concerns(key) {
			again, j.versions.fresh[key] = true, true
		} else {
			j.kept[key] = one
		}
	}
	if again {
		if err := j.apply(); err != nil {
			return err
		}
	}
	for key, last := range j.versions.trials {
		if _, still := j.kept[key]; !still && j.closed[key] == "" {
			j.versions.refresh(key, last)
			delete(j.versions.trials, key)
		}
	}
	j.put(waiting)
	return nil
}

// put sets the edits that are on trial: those that are applied now, and new routes that are closed (the parameter waiting).
func (j *judging) put(waiting []store.Edit) {
	edits := slices.DeleteFunc(j.reader.store.Edits(), func(e store.Edit) bool { _, closed := j.versions.closed[e.Key]; return closed })
	edits = append(edits, waiting...)
	slices.SortFunc(edits, func(a, b store.Edit) int { return manifest.CompareKeys(a.Key, b.Key) })
	j.edits, j.contents, j.renamed = edits, contentsOf(edits), renamesAmong(edits)
	j.divide(false)
}

// divide sets the units of the edits (unitsOf). A unit of which nothing was served before is not judged.
func (j *judging) divide(through bool) {
	j.units = nil
	for _, u := range unitsOf(j.edits, j.renamed, j.run.faulty, j.reader.store, through) {
		if u.hasLive(j.reader.store) {
			j.units = append(j.units, u)
			for _, e := range u.edits {
				j.member[e.Key] = u
			}
		}
	}
}

// scope is what a run changes, as far as it matters to held edits.
type scope struct {
	wide       bool            // everything may matter to each edit
	namespaces map[string]bool // of the changed objects
	asked      bool            // an issuer may have answered
}

// scopeOf returns the scope of a run.
func (p *pipeline) scopeOf(r *run) scope {
	s := scope{wide: p.failed || r.asked, namespaces: map[string]bool{}, asked: r.tree == nil}
	for _, key := range r.changed() {
		switch key.Kind {
		case "Gateway", "ListenerSet", "GatewayClass", "Namespace", "ReferenceGrant":
			s.wide = true
		}
		s.namespaces[key.Namespace] = true
	}
	return s
}

// concerns reports whether the run may matter to a held edit. A text that cannot be parsed may be gone, which changes no
// object.
func (j *judging) concerns(held manifest.Key) bool {
	s, last := j.scope, j.versions.trials[held]
	return s.wide || s.namespaces[held.Namespace] || len(last.texts) > 0 || s.asked && last.asks ||
		slices.ContainsFunc(last.elsewhere, func(namespace string) bool { return s.namespaces[namespace] })
}

// round takes back the edits with errors, and applies those whose errors are there without them. The result more is true
// if there were any.
func (j *judging) round(number int) (more bool, err error) {
	j.errors = j.errorsNow()
	for key := range j.run.faulty {
		if u := j.member[key]; u != nil && u.failed.IsZero() {
			u.failed = key
		}
	}
	if j.before == nil {
		if err := j.remember(); err != nil {
			return false, err
		}
		if slices.ContainsFunc(j.units, j.isBad) {
			j.divide(true)
			j.errors = j.errorsNow()
		}
	}
	var bad, same []*unit
	for _, u := range j.units {
		switch {
		case u.stage == candidate && j.isBad(u):
			bad = append(bad, u)
		case u.stage == live && j.isSame(u):
			same = append(same, u)
		}
	}
	if len(bad)+len(same) == 0 {
		return false, nil
	}
	j.users = j.usersOfContents()
	for _, u := range bad {
		j.note(u)
	}
	for _, u := range same {
		u.stage = forced
	}
	if number >= maxJudgements {
		j.giveUp(bad)
	}
	return true, j.apply()
}

// isBad reports whether an edit of the unit has an error that counts, or an object of it is invalid. Errors of edits that
// take effect with them (closesOnError) do not count here.
func (j *judging) isBad(u *unit) bool {
	return !u.failed.IsZero() || slices.ContainsFunc(u.edits, func(e store.Edit) bool {
		return !closesOnError(e.After) && len(j.counting(e.Key)) > 0
	})
}

// closesOnError reports whether an object, which may be nil, has the annotation api.AnnotationOnError.
func closesOnError(o *manifest.Object) bool {
	return o != nil && o.Value.GetAnnotations()[api.AnnotationOnError] == api.OnErrorClose
}

// isSame reports whether each error because of which the unit was taken back is still there.
func (j *judging) isSame(u *unit) bool {
	if !u.failed.IsZero() || u.fixed || len(u.noted) == 0 {
		return false
	}
	for key, noted := range u.noted {
		for _, p := range noted {
			if !slices.ContainsFunc(j.errors[key], func(o manifest.Problem) bool { return objectError(o) == objectError(p) }) {
				return false
			}
		}
	}
	return true
}

// counting returns the errors of an object that what was served before did not have.
func (j *judging) counting(key manifest.Key) (errs []manifest.Problem) {
	for _, p := range j.errors[key] {
		if !j.before[key][objectError(p)] {
			errs = append(errs, p)
		}
	}
	return errs
}

// note takes a unit back, and notes its errors and the statuses of its objects. Its edits must be applied still, so that
// the errors have places.
func (j *judging) note(u *unit) {
	u.stage, u.noted = live, map[manifest.Key][]manifest.Problem{}
	for _, e := range u.edits {
		if errs := j.counting(e.Key); len(errs) > 0 {
			u.noted[e.Key] = errs
		}
		now := trialOfEdit{elsewhere: namespacesIn(j.reader.store.WordsOf(e.Key)), asks: slices.ContainsFunc(u.noted[e.Key], ofIssuer)}
		if e.After != nil {
			now.status = j.translation.translator.Status(e.Key)
		}
		now.texts, now.users = u.texts, j.users[e.Key]
		j.versions.trials[e.Key] = now
		j.versions.refresh(e.Key, now)
		if now.asks {
			j.versions.issuers = slices.Concat(j.versions.issuers, j.translation.translator.Preview().Issuers)
		}
	}
	for _, e := range u.edits {
		if _, faulty := j.run.faulty[e.Key]; !faulty {
			j.notes[e.Key] = j.notApplied(e, u.problems(e))
		}
	}
}

// namespacesIn returns the words that follow the word "namespace": the namespaces that a text refers to, each once.
func namespacesIn(words []string) (all []string) {
	for i, word := range words {
		if word == "namespace" && i+1 < len(words) && !slices.Contains(all, words[i+1]) {
			all = append(all, words[i+1])
		}
	}
	return all
}

// giveUp takes back all units of the namespaces of some units, for good.
func (j *judging) giveUp(bad []*unit) {
	namespaces := map[string]bool{}
	for _, u := range bad {
		for _, e := range u.edits {
			namespaces[e.Key.Namespace] = true
		}
	}
	for _, u := range j.units {
		if !slices.ContainsFunc(u.edits, func(e store.Edit) bool { return namespaces[e.Key.Namespace] }) {
			continue
		}
		if u.stage != live {
			j.note(u)
		}
		u.fixed = true
	}
}

// remember finds the errors of what was served. At a start with a saved state they are found by a translation of it, if
// that matters.
func (j *judging) remember() error {
	if !j.published && len(j.errors) > 0 {
		if err := j.hold(j.run, store.Frozen{All: &store.Reason{}}); err != nil {
			return err
		}
		j.versions.errors = j.translation.translator.Preview().Problems
		if err := j.apply(); err != nil {
			return err
		}
	}
	j.before = map[manifest.Key]map[string]bool{}
	for key, errs := range j.errorsAmong(j.versions.errors) {
		j.before[key] = map[string]bool{}
		for _, p := range errs {
			j.before[key][objectError(p)] = true
		}
	}
	return nil
}

// apply makes the run continue without the edits of the units that are live.
func (j *judging) apply() error {
	held, closed := j.held()
	if err := j.hold(j.run, store.Frozen{Held: held}); err != nil {
		return err
	}
	return j.take(j.run, j.translation.close(closed, j.reader.store.Served))
}

// held returns the edits that are not applied, and the new routes that are closed, with for whom they wait.
func (j *judging) held() (all map[manifest.Key]store.Held, closed map[manifest.Key]string) {
	all, closed = map[manifest.Key]store.Held{}, maps.Clone(j.closed)
	maps.Copy(all, j.kept)
	for _, u := range j.units {
		if u.stage != live {
			continue
		}
		for _, e := range u.edits {
			if _, faulty := j.run.faulty[e.Key]; faulty {
				continue // it is held already
			}
			if e.Before == nil && e.After != nil && translate.Closed(e.After) != nil {
				closed[e.Key] = nameOf(u.fault())
			} else {
				all[e.Key] = j.notes[e.Key]
			}
		}
	}
	return all, closed
}
