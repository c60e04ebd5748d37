package engine

import (
	"maps"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/status"
)

// withheld is an object of which the translator has a replacement (inForce), because it waits for others, or because
// gatefold itself fails to translate it.
type withheld struct {
	object  *manifest.Object // the version of the folder
	inForce part             // what the translator got instead
	tried   int              // how many of the replacements were in force
	// waits is set if the object is a new route that waits for others of its unit. It says for which. The route is closed
	// then (translate.Closed).
	waits string
	// told is the last status that the translator returned for the object while a route without backends replaced
	// it. It is nil if there is no such status.
	told *status.Update
}

// replacements returns what can be translated in place of an object at which gatefold fails, the best first: a copy of a
// route without backends (translate.Closed), the object marked as invalid (store.Withhold), so that a policy closes its
// targets, and at last the removal of the object.
func replacements(object *manifest.Object) (all []part) {
	if closed := translate.Closed(object); closed != nil {
		all = append(all, part{key: object.Key, set: closed})
	}
	if invalid := store.Withhold(object, mistakeOfOurs+"; please report it"); invalid != nil {
		all = append(all, part{key: object.Key, gone: true, invalid: invalid})
	}
	return append(all, part{key: object.Key, gone: true})
}

// withholding has the withheld objects: those that gatefold itself fails to translate. gatefold tries each of
// them again when the object changes, and when a user requests a reload.
type withholding struct {
	all map[manifest.Key]*withheld
	// released has the stored statuses (withheld.told) of objects that are no longer withheld. restate adds them to
	// the next Result.
	released map[manifest.Key]*status.Update

	sure bool // the fields below, which are caches of the method report, are still valid
	// given has the problems of a Result. report computed the list problems from them.
	given    []manifest.Problem
	problems []manifest.Problem
}

// newWithholding returns a withholding without objects.
func newWithholding() *withholding {
	return &withholding{all: map[manifest.Key]*withheld{}, released: map[manifest.Key]*status.Update{}}
}

// add stores that an object is withheld.
func (q *withholding) add(key manifest.Key, w *withheld) {
	if told := q.released[key]; told != nil {
		w.told = told // the last status of the translator is still known
	}
	delete(q.released, key)
	q.all[key], q.sure = w, false
}

// closed returns the new routes that wait for others, and are closed.
func (q *withholding) closed() map[manifest.Key]*withheld {
	all := map[manifest.Key]*withheld{}
	for key, w := range q.all {
		if w.waits != "" {
			all[key] = w
		}
	}
	return all
}

// release ends the withholding of an object, so that the object's own version is translated again. If there is a
// status in withheld.told, release moves this status to q.released. If the object is not withheld, release does
// nothing.
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

// filter returns a copy of a Change for the translator. In the copy, two things are different for withheld objects
// (objects that gatefold failed to translate before):
//   - If the Change has the same version of a withheld object again, the copy has the object's replacement
//     (withheld.inForce) instead.
//   - If the Change has another version of a withheld object, or removes it, this stays in the copy, and the object
//     is no longer withheld.
func (q *withholding) filter(change store.Change) store.Change {
	if len(q.all) == 0 {
		return change
	}
	parts := partsOf(change)
	for i, p := range parts {
		w := q.all[p.key]
		switch {
		case w == nil:
		case p.set != nil && p.set.Hash == w.object.Hash:
			parts[i] = w.inForce
		default:
			q.release(p.key)
		}
	}
	out := joined(parts)
	change.Set, change.Gone, change.Invalid = out.Set, out.Gone, out.Invalid
	return change
}

// retry returns a Change with all withheld objects (those that gatefold failed to translate), and removes them
// from the withheld ones. When this Change is applied, they are tried again.
func (q *withholding) retry() store.Change {
	var parts []part
	for _, key := range slices.SortedFunc(maps.Keys(q.all), manifest.CompareKeys) {
		if q.all[key].waits != "" {
			continue // they wait for others
		}
		parts = append(parts, part{key: key, set: q.all[key].object})
		q.release(key)
	}
	return joined(parts)
}

// mistakeOfOurs says why an object is withheld at which gatefold fails.
const mistakeOfOurs = "gatefold could not translate this object, which is a mistake in gatefold"

// why returns a text that says what is wrong with the object, and how this affects traffic.
func (w *withheld) why() string {
	switch {
	case w.waits != "":
		return "the new route waits for " + w.waits + ", which has an error: both take effect together; the route answers 500"
	case w.inForce.set != nil:
		return mistakeOfOurs + "; the route answers 500"
	case w.inForce.invalid != nil && len(w.inForce.invalid.Targets) > 0:
		return mistakeOfOurs + "; the policy is not in force, and its targets answer 500"
	}
	return mistakeOfOurs + "; the object is not in force"
}

// report adds a problem for each withheld object to a Result, and corrects statuses (restate).
func (q *withholding) report(result *translate.Result) {
	q.restate(result)
	if len(q.all) == 0 {
		return
	}
	if !q.sure || !store.SameProblems(q.given, result.Problems) {
		q.given = result.Problems
		q.problems = slices.Concat(slices.DeleteFunc(slices.Clone(result.Problems), q.replaces), q.own())
		manifest.SortProblems(q.problems)
	}
	q.sure = true
	result.Problems = q.problems
}

// replaces reports whether the problem p is about a replacement that is served in place of the user's route: the
// copy without backends (translate.Closed). Such a problem is not shown to the user.
func (q *withholding) replaces(p manifest.Problem) bool {
	w := q.all[p.Object]
	return w != nil && w.inForce.set != nil
}

// own returns the problem of each withheld object, in no order.
func (q *withholding) own() (problems []manifest.Problem) {
	for key, w := range q.all {
		if w.waits != "" {
			problems = append(problems, manifest.Problem{
				Code: waitsFor, Severity: manifest.Error, Object: key, Message: w.why(), Hint: "fix the error of " + w.waits,
			})
			continue
		}
		problems = append(problems, manifest.Problem{
			Code: store.InternalError, Severity: manifest.Error, Object: key, Message: w.why(),
			Hint: mistakeHint,
		})
	}
	return problems
}

// restate corrects the statuses in a Result. If a withheld route is served without backends (translate.Closed), its
// condition Accepted becomes False. For an object that is no longer withheld, restate adds the last status that the
// translator returned for it, unless the Result has a newer one.
func (q *withholding) restate(result *translate.Result) {
	if len(q.all)+len(q.released) == 0 {
		return
	}
	for i, u := range result.Status {
		delete(q.released, u.Key)
		w := q.all[u.Key]
		routes, ok := u.Status.(*gwv1.RouteStatus)
		if w == nil || !ok || w.inForce.set == nil {
			continue
		}
		w.told = &u
		result.Status[i].Status, result.Status[i].State = rejected(routes, w.why()), status.Closed
	}
	for _, u := range q.released {
		result.Status = append(result.Status, *u)
	}
	clear(q.released)
	slices.SortFunc(result.Status, func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
}

// rejected returns a copy of a route's status, in which the condition Accepted is False for each parent. The
// parameter why is the message of the condition.
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
