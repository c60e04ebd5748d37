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

// Each Envoy decides for itself: a part of a table that it rejects is kept from its own
// stream (delta/search.go). What it rejected is nothing to the others. When every connected Envoy
// that asks for the table rejected the part, it is in quarantine: the problem is the object's
// then, and the Gateway is programmed without it.

// maxQuarantine bounds how many parts are remembered that Envoys rejected or are too old for.
const maxQuarantine = 10_000

// quarantine is what Envoys rejected. It is guarded by lock.
type quarantine struct {
	*lock
	verdicts *verdicts
	// tell, when set, is told what is in quarantine after each change of it.
	tell       func(translate.Quarantine)
	wait       time.Duration // for the Envoys that have not answered
	blameRules bool          // takes no rejection for the Envoy's own matter; for tests

	parts   map[translate.RejectedPart]*suspicion
	changed chan struct{} // capacity 1: there is something to review
	gaveUp  bool          // a part that was told is not remembered any more, since the last review
}

// suspicion is what is known of a part in one form that an Envoy rejected. One that no
// connected Envoy rejects any more is kept as a hint: see hints.
type suspicion struct {
	at map[placed]struct{} // where it is
	// rejectedBy are the streams that rejected it, by what they know of it.
	rejectedBy map[*delta.RejectedPart]*stream
	rejected   bool                // an Envoy rejected it, once: it is a hint
	since      time.Time           // of the first of those that rejected it
	taken      bool                // an Envoy took it: the rejection is the matter of those Envoys alone
	told       bool                // it is in quarantine
	published  translate.Rejection // why, as translate knows it
	// othersServe is true of a part that is known if other Envoys are connected that are not too old for it.
	othersServe bool
	// tooOld is what versions returns; "" when rejectedBy changed since.
	tooOld string
}

// placed is a part of a table.
type placed struct {
	table string
	xds.Part
}

func newQuarantine(guard *lock, verdicts *verdicts, options Options) *quarantine {
	return &quarantine{
		lock: guard, verdicts: verdicts, tell: options.Quarantine, wait: options.BarrierWait, blameRules: options.blameRules,
		parts: map[translate.RejectedPart]*suspicion{}, changed: make(chan struct{}, 1),
	}
}

func (q *quarantine) poke() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// heed has what Envoys rejected reviewed after an answer to a table: an Envoy may have taken a part.
func (q *quarantine) heed(st *stream, r *delta.Response) {
	q.take(st)
	if (r.Type == xds.RouteType || r.Type == xds.FilterType) && !r.Probe && len(q.parts) > 0 {
		q.poke()
	}
}

// noteRejected books that a stream rejected a part, unless that is the Envoy's own matter by its words.
func (q *quarantine) noteRejected(st *stream, part *delta.RejectedPart) {
	if q.ownMatter(part.Words) {
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

// keyOf returns what a part is remembered by. A route is rejected in whatever table it is, a requirement
// at whatever Gateway.
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

// ownMatter reports whether Envoy's words are about this Envoy and not about the rule: it was
// built without something, or is set to a limit. Another Envoy may take the rule.
func (q *quarantine) ownMatter(words string) bool {
	return !q.blameRules && slices.ContainsFunc([]string{
		"Didn't find a registered implementation", "could not find @type", "Unable to parse JSON", "unknown type",
		"max program size", "has unknown fields",
	}, func(part string) bool { return strings.Contains(words, part) })
}

// room reports whether one more part can be remembered. A hint is given up for it and, if an Envoy
// rejected the part, one that Envoys are only too old for.
func (q *quarantine) room(rejected bool) bool {
	if len(q.parts) < maxQuarantine {
		return true
	}
	for key, of := range q.parts {
		if len(of.rejectedBy) == 0 && !of.told || rejected && of.known() {
			q.gaveUp = q.gaveUp || of.told
			delete(q.parts, key)
			return true
		}
	}
	return false
}

// take books which parts a stream rejects since the last call, and returns them, and which it no longer
// rejects: they changed, or it left.
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

// forget books that an Envoy no longer rejects a part.
func (q *quarantine) forget(part *delta.RejectedPart) {
	if of := q.parts[keyOf(part)]; of != nil && of.rejectedBy[part] != nil {
		delete(of.rejectedBy, part)
		of.tooOld = ""
		q.poke()
	}
}

// hints returns what other Envoys rejected of a table, in the forms that they rejected.
func (q *quarantine) hints(table string) map[xds.Part]xds.Fault {
	out := map[xds.Part]xds.Fault{}
	for key, of := range q.parts {
		if !of.rejected {
			continue // no other Envoy needs to be spared it
		}
		for at := range of.at {
			if at.table == table {
				out[at.Part] = xds.Fault{Sum: key.Sum, Match: of.byMatch()}
			}
		}
	}
	return out
}

// byMatch reports whether all that rejected the part rejected its match.
func (of *suspicion) byMatch() bool {
	for part := range of.rejectedBy {
		if !part.Match {
			return false
		}
	}
	return len(of.rejectedBy) > 0
}

// known reports whether no connected Envoy rejected the part: they are known to be too old for it, and not sent it.
func (of *suspicion) known() bool {
	for part := range of.rejectedBy {
		if part.Lack == nil {
			return false
		}
	}
	return len(of.rejectedBy) > 0
}

// lacks returns the field that Envoys are too old for, of a part that is known.
func (of *suspicion) lacks() (field ir.Field) {
	for part := range of.rejectedBy {
		field = max(field, part.Lack.Field)
	}
	return field
}

// refusal is what the Envoys said that rejected the part, or what those lack that are too old for it if none did.
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

// maxVersions bounds how many Envoys a problem names that are too old.
const maxVersions = 3

// versions returns which Envoys are too old for a part, and what it needs. It costs what the Envoys are when another one is or
// leaves, and nothing in between.
func (of *suspicion) versions() string {
	if of.tooOld == "" {
		of.tooOld = of.listVersions()
	}
	return of.tooOld
}

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

// forgive has what Envoys rejected tried again: they may have been replaced by others.
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
