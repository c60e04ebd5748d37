package engine

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/plan"
)

// maxSuspects bounds how many edits are taken back to find which of them brought an error.
const maxSuspects = 32

// foresight finds what a revision would do, before it is published: which errors it brings to objects that it does not edit,
// and what Options.Strict would not apply.
type foresight struct {
	brought []plan.BroughtError
	strict  []plan.Refusal
}

// look examines the revision of a trial, whose edits are judged. The error means that it was interrupted.
func (f *foresight) look(t *trial) error {
	f.strict = refusals(t.newErrors())
	if t.published {
		if err := f.lookForBrought(t); err != nil {
			return err
		}
	}
	t.accept()
	t.gate.unjudged = false
	return nil
}

// refusals returns what Options.Strict does not apply, because of the errors that groups bring, sorted.
func refusals(brought map[string]*brought) (all []plan.Refusal) {
	for _, name := range slices.Sorted(maps.Keys(brought)) {
		if b := brought[name]; !b.group.nobodys() {
			errs := slices.Concat(b.read, b.translated)
			manifest.SortProblems(errs)
			all = append(all, plan.Refusal{Of: name, Errors: errs})
		}
	}
	return all
}

// lookForBrought finds the errors of objects that were served before, and that have no error of their own: edits of other
// objects brought them. An edit brought an error if the error is not there without the edit. The error means that it was
// interrupted.
func (f *foresight) lookForBrought(t *trial) error {
	edits := t.reader.store.Edits()
	edited := map[manifest.Key]store.Edit{}
	for _, e := range edits {
		edited[e.Key] = e
	}
	errs := slices.DeleteFunc(slices.Clone(t.translation.translator.Preview().Problems), func(p manifest.Problem) bool {
		e, ok := edited[p.Object]
		return !countsForEdits(p) || t.gate.translateErrors[objectError(p)] || ok && e.Before == nil || t.reader.store.Served(p.Object) == nil
	})
	if len(errs) == 0 || len(edits) == 0 {
		return nil
	}
	by := map[string]manifest.Key{} // the edit that brought an error
	for _, p := range errs {
		if _, ok := edited[p.Cause.Object]; ok {
			by[objectError(p)] = p.Cause.Object
		}
	}
	if err := t.suspect(edits, errs, by); err != nil {
		return err
	}
	for i, p := range t.reader.secrets.locate(prefixed(t.reader.store.LocateApart(errs), t.gate.prefix, "")) {
		f.brought = append(f.brought, plan.BroughtError{Problem: p, By: by[objectError(errs[i])]})
	}
	return nil
}

// suspect takes back each edit alone, and adds to the map the errors that are not there then. Edits of objects that errors
// name come first, and at most maxSuspects are tried. The error means that it was interrupted.
func (t *trial) suspect(edits []store.Edit, errs []manifest.Problem, by map[string]manifest.Key) error {
	named := map[string]bool{}
	for _, p := range errs {
		for _, word := range store.Words(p.Message) {
			named[word] = true
		}
	}
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b store.Edit) int { return ir.TrueFirst(named[a.Key.Name], named[b.Key.Name]) })
	held, tried := t.reader.store.Held(), 0
	if held == nil {
		held = map[manifest.Key]store.Held{}
	}
	for _, e := range edits {
		missing := func(p manifest.Problem) bool { _, known := by[objectError(p)]; return !known && p.Object != e.Key }
		if tried == maxSuspects || !slices.ContainsFunc(errs, missing) {
			break
		}
		tried++
		without := maps.Clone(held)
		without[e.Key] = store.Held{Candidate: e.After}
		if err := t.freezeAs(store.Frozen{Held: without}); err != nil {
			return err
		}
		still := map[string]bool{}
		for _, p := range t.translation.translator.Preview().Problems {
			still[objectError(p)] = true
		}
		for _, p := range errs {
			if missing(p) && !still[objectError(p)] {
				by[objectError(p)] = e.Key
			}
		}
	}
	if tried == 0 {
		return nil
	}
	return t.freezeAs(store.Frozen{Held: held})
}

// heldEdits returns the edits that are not applied after a run, sorted by key.
func (p *pipeline) heldEdits(r *run) (all []plan.HeldEdit) {
	of := map[manifest.Key][]manifest.Problem{}
	for _, problem := range r.problems {
		if problem.Severity == manifest.Error || ofIssuer(problem) {
			of[problem.Object] = append(of[problem.Object], problem)
		}
	}
	held := p.reader.store.Held()
	for key, e := range held { // what is wrong with the version that is served is not about the edit
		of[key] = slices.DeleteFunc(of[key], func(problem manifest.Problem) bool {
			return !slices.ContainsFunc(e.Problems, func(own manifest.Problem) bool { return own.Code == problem.Code && own.Message == problem.Message })
		})
	}
	for _, stale := range r.result.Stale {
		one := plan.HeldEdit{Kind: plan.Changed, Object: stale.Key, Serves: plan.ServesBefore, Problems: of[stale.Key]}
		if !slices.Contains(p.reader.store.WordsOf(stale.Key), stale.Key.Name) {
			one.Kind = plan.Removed
		}
		if len(one.Problems) == 0 {
			one.Problems = []manifest.Problem{causeOfStale(stale, r.problems)}
		}
		all = append(all, one)
	}
	for key := range held {
		if p.reader.store.Served(key) == nil {
			all = append(all, plan.HeldEdit{Kind: plan.Added, Object: key, Serves: plan.ServesNothing, Problems: of[key]})
		}
	}
	for key := range p.translation.withheld.closed() {
		all = append(all, plan.HeldEdit{Kind: plan.Added, Object: key, Serves: plan.ServesClosed, Problems: of[key]})
	}
	slices.SortFunc(all, func(a, b plan.HeldEdit) int { return manifest.CompareKeys(a.Object, b.Object) })
	return all
}

// causeOfStale returns the error because of which an object is stale, if no error is about the object: that of its file.
func causeOfStale(stale store.Stale, problems []manifest.Problem) manifest.Problem {
	for _, p := range problems {
		if p.Severity == manifest.Error && p.Message == stale.Message && p.Line == stale.Line {
			return p
		}
	}
	return manifest.Problem{
		Code: plan.LastGoodKept, Severity: manifest.Error, File: stale.File, Line: stale.Line, Column: stale.Column, Object: stale.Key, Message: stale.Message,
	}
}
