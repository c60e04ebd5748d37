package engine

import (
	"maps"
	"slices"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/status"
)

// withheld is an object in a version that gatefold cannot translate because of a fault of its own.
type withheld struct {
	object  *manifest.Object // nil where its removal is withheld
	former  *manifest.Object // its last valid version, which is served; nil for none
	inForce part             // what the translator has in its place
	slow    bool             // it took too long; else it panicked
	since   time.Time
	told    *status.Update // of a closed route, as the translator gave it last
}

// withholding has the withheld objects. Each is tried again when it changes, and when a user asks
// for a reload.
type withholding struct {
	all map[manifest.Key]*withheld
	// released are keys whose statuses were changed here, and are the translator's again.
	released map[manifest.Key]*status.Update
	// substitutes are the objects without a last valid version, in whose place something else was
	// published. They stay here until they are published themselves, or are gone.
	substitutes map[manifest.Key]struct{}

	sure     bool // what follows is what it would be again
	given    []manifest.Problem
	problems []manifest.Problem
	stale    []store.Stale
	stored   []store.Stale
}

func newWithholding() *withholding {
	return &withholding{all: map[manifest.Key]*withheld{}, released: map[manifest.Key]*status.Update{}, substitutes: map[manifest.Key]struct{}{}}
}

func (q *withholding) add(key manifest.Key, w *withheld) {
	w.told = q.released[key] // what is told of it stays
	delete(q.released, key)
	q.all[key], q.sure = w, false
	if delete(q.substitutes, key); w.former == nil {
		q.substitutes[key] = struct{}{}
	}
}

// formers returns the versions that are served instead of newer ones, and forgets substitutes that
// do not exist any more. It is called after everything is published.
func (q *withholding) formers() map[manifest.Key]store.Withheld {
	maps.DeleteFunc(q.substitutes, func(key manifest.Key, _ struct{}) bool { return q.all[key] == nil })
	former := map[manifest.Key]store.Withheld{}
	for key, w := range q.all {
		if w.former != nil && w.object != nil {
			former[key] = store.Withheld{Object: w.former, Since: w.since}
		}
	}
	return former
}

func (q *withholding) release(key manifest.Key) {
	w := q.all[key]
	if w == nil {
		return
	}
	if w.told != nil {
		q.released[key] = w.told
	}
	delete(q.all, key)
	q.sure = false
}

// filter returns a Change for the translator: withheld versions are replaced by what is served
// instead.
func (q *withholding) filter(change store.Change) store.Change {
	if len(q.all) == 0 {
		return change
	}
	parts := partsOf(change)
	for i, p := range parts {
		w := q.all[p.key]
		switch {
		case w == nil:
		case p.set != nil && w.object != nil && p.set.Hash == w.object.Hash:
			parts[i] = w.inForce
		default:
			q.release(p.key)
		}
	}
	out := joined(parts)
	change.Set, change.Gone, change.Invalid = out.Set, out.Gone, out.Invalid
	return change
}

// retry releases all withheld objects, and returns the Change that contains them.
func (q *withholding) retry() store.Change {
	var parts []part
	for _, key := range slices.SortedFunc(maps.Keys(q.all), manifest.CompareKeys) {
		parts = append(parts, part{key: key, set: q.all[key].object, gone: q.all[key].object == nil})
		q.release(key)
	}
	return joined(parts)
}

// cause returns what is wrong with the object.
func (w *withheld) cause() string {
	if w.slow {
		return "gatefold needs too long to translate this object, which is a mistake in gatefold"
	}
	return "gatefold could not translate this object, which is a mistake in gatefold"
}

// why returns what is wrong with the object, and what that means for traffic.
func (w *withheld) why() string {
	words := w.cause()
	switch {
	case w.object == nil:
		return words + "; the object was removed, but still serves"
	case w.former != nil:
		return words + "; the last valid version is still served"
	case w.inForce.set != nil:
		return words + "; the route answers 500"
	case w.inForce.invalid != nil && len(w.inForce.invalid.Targets) > 0:
		return words + "; the policy is not in force, and its targets answer 500"
	}
	return words + "; the object is not in force"
}

// report adds the withheld objects to a Result. It returns the stale objects of the folder with
// those that are withheld.
func (q *withholding) report(result *translate.Result, stale []store.Stale, folder *store.Store) []store.Stale {
	q.restate(result)
	if len(q.all) == 0 {
		return stale
	}
	if !q.sure || !store.SameProblems(q.given, result.Problems) {
		q.given = result.Problems
		q.problems = slices.Concat(slices.DeleteFunc(slices.Clone(result.Problems), q.replaces), q.own())
		manifest.SortProblems(q.problems)
	}
	if !q.sure || !store.SameStale(q.stored, stale) {
		q.stored, q.stale = stale, slices.Concat(stale, q.ownStale(folder))
		slices.SortFunc(q.stale, func(a, b store.Stale) int { return manifest.CompareKeys(a.Key, b.Key) })
	}
	q.sure = true
	result.Problems = q.problems
	return q.stale
}

// replaces reports whether a problem belongs to a closed route that replaces the user's.
func (q *withholding) replaces(p manifest.Problem) bool {
	w := q.all[p.Object]
	return w != nil && w.inForce.set != nil && w.former == nil
}

func (q *withholding) own() (problems []manifest.Problem) {
	for key, w := range q.all {
		problems = append(problems, manifest.Problem{
			Code: store.InternalError, Severity: manifest.Error, Object: key, Message: w.why(),
			Hint: "please report it with the log of gatefold; gatefold tries again when the object changes, and at `gatefold reload`",
		})
	}
	return problems
}

// ownStale returns the objects whose last valid version is served because the newest one is
// withheld.
func (q *withholding) ownStale(folder *store.Store) (all []store.Stale) {
	for _, w := range q.all {
		if w.former != nil && w.object != nil {
			all = append(all, folder.StaleBecause(w.former, w.since, w.why()))
		}
	}
	return all
}

// restate sets the statuses of closed routes to not accepted.
func (q *withholding) restate(result *translate.Result) {
	if len(q.all)+len(q.released) == 0 {
		return
	}
	for i, u := range result.Status {
		delete(q.released, u.Key)
		w := q.all[u.Key]
		routes, ok := u.Status.(*gwv1.RouteStatus)
		if w == nil || !ok || w.inForce.set == nil || w.former != nil {
			continue
		}
		w.told = &u
		result.Status[i].Status = rejected(routes, w.why())
	}
	for _, u := range q.released {
		result.Status = append(result.Status, *u)
	}
	clear(q.released)
	slices.SortFunc(result.Status, func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
}

// rejected returns a route's status with Accepted False for each parent.
func rejected(from *gwv1.RouteStatus, why string) *gwv1.RouteStatus {
	out := from.DeepCopy()
	bad := manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: why}
	for i := range out.Parents {
		for j, c := range out.Parents[i].Conditions {
			if c.Type == string(gwv1.RouteConditionAccepted) {
				out.Parents[i].Conditions[j] = status.RouteAccepted(c.ObservedGeneration, bad)
			}
		}
	}
	return out
}
