package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// Each Envoy decides for itself: gatefold stops sending a rejected part of a route table or filter on the
// stream of that Envoy alone (delta/search.go), and the other Envoys still get the part. If no connected Envoy
// accepts the part, and all that request the table or filter rejected it or had time to answer, the part is in
// quarantine. A part that Envoys are only too old for is in quarantine at once. Then the problem is reported at
// the user's object, and the Gateway is programmed without the part.

// maxQuarantine bounds the number of parts in quarantine.parts.
const maxQuarantine = 10_000

// quarantine has the suspect parts of route tables and filters, and what is known of each part. A part (xds.Part)
// is a route, a host or a JWT requirement. It is suspect if at least one Envoy rejected it, or is too old for it. A
// part is in quarantine if its suspicion.told is true (see quarantines). quarantine is guarded by lock.
type quarantine struct {
	*lock
	verdicts *verdicts
	// tell, if set, is called with all parts in quarantine after each change of them.
	tell func(translate.Quarantine)
	wait time.Duration // how long a part waits for the answers of other Envoys before it is in quarantine

	parts   map[translate.RejectedPart]*suspicion
	changed chan struct{} // capacity 1: there is something to review
	gaveUp  bool          // since the last review, a part in quarantine was dropped (see room)
}

// suspicion is what is known of a part (xds.Part) with one content that an Envoy rejected or is too old for. Its
// key in quarantine.parts has the hash of this content. After the last Envoy that rejected the part disconnected,
// the suspicion stays in memory as a hint (see hints).
type suspicion struct {
	at map[placed]struct{} // the route tables and filters that contain the part
	// rejectedBy has the streams whose Envoys rejected the part or are too old for it. The key is the stream's
	// record of the rejection.
	rejectedBy map[*delta.RejectedPart]*stream
	rejected   bool                // an Envoy rejected the part at least once
	since      time.Time           // when the first Envoy of rejectedBy rejected the part
	taken      bool                // another Envoy accepted the part, so the Envoys in rejectedBy are at fault
	told       bool                // the method review decided that the part is in quarantine
	published  translate.Rejection // the reason that translate got last
	// othersServe is true if every Envoy in rejectedBy is only too old for the part (see the method known), and a
	// connected Envoy that is new enough requests a route table with the part.
	othersServe bool
	// tooOld caches the result of the method versions: a text about the Envoys that are too old for the part. It is
	// "" if versions must compute the text again, because rejectedBy changed.
	tooOld string
}

// placed is a part, and the route table or filter that contains it.
type placed struct {
	table string
	xds.Part
}

// newQuarantine returns a quarantine without parts. The parameter guard is the lock that also guards verdicts. Of
// the options, newQuarantine uses Quarantine and BarrierWait.
func newQuarantine(guard *lock, verdicts *verdicts, options Options) *quarantine {
	return &quarantine{
		lock: guard, verdicts: verdicts, tell: options.Quarantine, wait: options.BarrierWait,
		parts: map[translate.RejectedPart]*suspicion{}, changed: make(chan struct{}, 1),
	}
}

// poke makes the method run decide soon which parts are in quarantine. It does not wait for that.
func (q *quarantine) poke() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// heed is called after the Envoy of st answered the response r. It records which parts of route tables and filters
// the Envoy rejects now. An answer to route tables or filters may also mean that the Envoy accepted a part that
// other Envoys rejected. So after such an answer, heed wakes the method run, which decides again which parts are in
// quarantine. An answer to a test table (r.Probe) has no such effect.
func (q *quarantine) heed(st *stream, r *delta.Response) {
	q.take(st)
	if (r.Type == xds.RouteType || r.Type == xds.FilterType) && !r.Probe && len(q.parts) > 0 {
		q.poke()
	}
}

// noteRejected records that the Envoy of a stream rejected a part of a route table or filter, or is too old for
// the part. It does nothing if Envoy's error is about this Envoy alone (see ownMatter), or if the part is new and
// q.parts has no room for it (see room).
func (q *quarantine) noteRejected(st *stream, part *delta.RejectedPart) {
	if ownMatter(part.Words) {
		return
	}
	key := keyOf(part)
	of := q.parts[key]
	if of == nil {
		if !q.room(part.Lack == nil) {
			return
		}
		of = &suspicion{at: map[placed]struct{}{}, rejectedBy: map[*delta.RejectedPart]*stream{}}
		q.parts[key] = of
	}
	if part.Lack == nil {
		if len(of.rejectedBy) == 0 || of.known() {
			of.since, of.taken = time.Now(), false
		}
		of.rejected = true
	}
	of.at[placed{part.Table, part.Part}] = struct{}{}
	of.rejectedBy[part], of.tooOld = st, ""
	st.Quarantine(part, of.told)
}

// keyOf returns the key of a rejected part in quarantine.parts. The key has the hash of the part's content. So the
// key is the same for all Envoys that reject the part with this content. A route with the same content has the same
// key in every route table, and a JWT requirement with the same content has the same key at every Gateway.
func keyOf(part *delta.RejectedPart) translate.RejectedPart {
	sum := part.Sum
	if part.Lack != nil {
		sum = part.Lack.Sum
	}
	if part.Requirement != "" {
		return translate.RejectedPart{Requirement: part.Requirement, Sum: sum}
	}
	if part.Route != "" {
		return translate.RejectedPart{Route: part.Route, Sum: sum}
	}
	return translate.RejectedPart{Table: part.Table, Host: part.Host, Sum: sum}
}

// ownMatter reports whether Envoy's error (words) is about this Envoy and not about the rule: the Envoy was
// built without an extension, or is configured with a limit. Another Envoy may accept the rule.
func ownMatter(words string) bool {
	return slices.ContainsFunc([]string{
		"Didn't find a registered implementation", "could not find @type", "Unable to parse JSON", "unknown type",
		"max program size", "has unknown fields",
	}, func(part string) bool { return strings.Contains(words, part) })
}

// room reports whether one more part can be added to q.parts. If q.parts already has maxQuarantine parts, room
// first drops one of these parts:
//   - a part that is not in quarantine, and that no connected Envoy rejects or is too old for
//   - only if there is no such part, and the parameter rejected is true: a part that Envoys are too old for, and
//     that none of them rejected (see known)
//
// The parameter rejected is true if an Envoy rejected the new part. room returns false if no part can be dropped.
func (q *quarantine) room(rejected bool) bool {
	if len(q.parts) < maxQuarantine {
		return true
	}
	if q.drop(func(of *suspicion) bool { return len(of.rejectedBy) == 0 && !of.told }) {
		return true
	}
	return rejected && q.drop((*suspicion).known)
}

// drop removes one part of q.parts for which the function idle returns true. It returns false if there is none.
func (q *quarantine) drop(idle func(*suspicion) bool) bool {
	for key, of := range q.parts {
		if idle(of) {
			q.gaveUp = q.gaveUp || of.told
			delete(q.parts, key)
			return true
		}
	}
	return false
}

// take records which parts of route tables and filters the Envoy of a stream newly rejects or is too old for, and
// returns them. "Newly" means since the last call for this stream. take also records which parts the Envoy no
// longer rejects, for example because the parts changed or the stream ended.
func (q *quarantine) take(st *stream) []*delta.RejectedPart {
	rejected, cleared := st.TakeRejected()
	if len(rejected)+len(cleared) > 0 && st.old() {
		q.verdicts.restate(st.scope)
	}
	for _, part := range rejected {
		q.noteRejected(st, part)
	}
	for _, part := range cleared {
		q.forget(part)
	}
	return rejected
}

// forget records that an Envoy no longer rejects a part.
func (q *quarantine) forget(part *delta.RejectedPart) {
	if of := q.parts[keyOf(part)]; of != nil && of.rejectedBy[part] != nil {
		delete(of.rejectedBy, part)
		of.tooOld = ""
		q.poke()
	}
}

// hints returns the parts of a route table or filter that any Envoy rejected, each with the hash of the rejected
// form. An Envoy that rejects the table and has no earlier version of it is first sent the table without these
// parts.
func (q *quarantine) hints(table string) map[xds.Part]xds.Fault {
	out := map[xds.Part]xds.Fault{}
	for key, of := range q.parts {
		if !of.rejected {
			continue // Envoys are only too old for it; each finds that without a hint
		}
		for at := range of.at {
			if at.table == table {
				out[at.Part] = xds.Fault{Sum: key.Sum, Match: of.byMatch()}
			}
		}
	}
	return out
}

// byMatch reports whether the match of a route, or the domains of a host, are at fault: every Envoy in rejectedBy
// also rejected a replacement of the part that has the same match or domains and answers 500 (xds.Fault.Match). As
// the replacement does not help, these Envoys get the table without the part. byMatch returns false if rejectedBy
// is empty.
func (of *suspicion) byMatch() bool {
	for part := range of.rejectedBy {
		if !part.Match {
			return false
		}
	}
	return len(of.rejectedBy) > 0
}

// known reports whether every Envoy in rejectedBy is too old for the part. Then the missing feature is the whole
// reason: these Envoys were never sent the part, so none of them rejected it. The result is false if rejectedBy is
// empty.
func (of *suspicion) known() bool {
	for part := range of.rejectedBy {
		if part.Lack == nil {
			return false
		}
	}
	return len(of.rejectedBy) > 0
}

// lacks returns the field of TrafficPolicy that the Envoys in rejectedBy are too old for. If there are several
// such fields, it returns the last by name. It is called only if known returns true.
func (of *suspicion) lacks() (field ir.Field) {
	for part := range of.rejectedBy {
		field = max(field, part.Lack.Field)
	}
	return field
}

// refusal returns why a part of a route table or filter is in quarantine. If Envoys are only too old for the
// part, the reason is the missing feature. Otherwise the reason is the error of one Envoy: the first Envoy by
// name and, of the errors of this Envoy, the first by text.
func (of *suspicion) refusal() translate.Rejection {
	if of.known() {
		return translate.Rejection{Lacks: of.lacks(), Some: of.othersServe, Words: of.versions()}
	}
	var node, words string
	for part, st := range of.rejectedBy {
		if part.Lack != nil {
			continue
		}
		if name := cmp.Or(st.node, st.peer); node == "" || cmp.Or(cmp.Compare(name, node), cmp.Compare(part.Words, words)) < 0 {
			node, words = name, part.Words
		}
	}
	return translate.Rejection{Match: of.byMatch(), Words: fmt.Sprintf("Envoy %q: %s", node, words)}
}

// maxVersions is the maximum number of Envoys that the message of a problem names, with their versions, if they are
// too old for a feature.
const maxVersions = 3

// versions returns a text with the feature that Envoys lack, and the names and versions of these Envoys. It
// computes the text only if rejectedBy changed since the last call.
func (of *suspicion) versions() string {
	if of.tooOld == "" {
		of.tooOld = of.listVersions()
	}
	return of.tooOld
}

// listVersions computes the text that versions returns. It names at most maxVersions Envoys, sorted by name, and
// gives the number of the others.
func (of *suspicion) listVersions() string {
	type envoy struct{ node, version string }
	var needs string
	envoys := map[envoy]struct{}{}
	for part, st := range of.rejectedBy {
		needs = max(needs, part.Words)
		envoys[envoy{cmp.Or(st.node, st.peer), st.version}] = struct{}{}
	}
	named := slices.SortedFunc(maps.Keys(envoys), func(a, b envoy) int {
		return cmp.Or(strings.Compare(a.node, b.node), strings.Compare(a.version, b.version))
	})
	var list []string
	for _, e := range named[:min(maxVersions, len(named))] {
		list = append(list, fmt.Sprintf("%q is %s", e.node, e.version))
	}
	if more := len(named) - maxVersions; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return needs + "; " + strings.Join(list, ", ")
}

// forgive makes every stream send again some of what its Envoy rejected (see delta.Plan.Forgive): the Envoy may
// have been upgraded, and may accept it now. forgive only marks the streams. Their goroutines send after it has
// returned.
func (q *quarantine) forgive() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.verdicts.all() {
		for st := range c.streams {
			st.forgiven = true
			st.setIdle(false)
			st.poke()
		}
	}
}
