package engine

import (
	"maps"
	"slices"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// editLog logs two things about edits: each one that is not applied and may take away access, and each one that was not
// applied and takes effect although its file did not change.
type editLog struct {
	log    zerolog.Logger
	reader *reader
	told   map[manifest.Key]string     // what was logged last of the stale objects that protect
	stale  []store.Stale               // the stale objects after the run before
	held   map[manifest.Key]store.Held // the edits that were held then
}

// observe implements observer.
func (l *editLog) observe(r *run) {
	if !r.published || store.SameStale(r.result.Stale, l.stale) && len(l.reader.store.Held()) == len(l.held) {
		return
	}
	l.stale = r.result.Stale
	l.notApplied(r.result.Stale)
	l.applied(r)
	l.held = maps.Clone(l.reader.store.Held())
}

// notApplied logs the stale objects that protect and are new, or have another error. It logs at most maxProblemLines.
func (l *editLog) notApplied(stale []store.Stale) {
	now, uses, lines := map[manifest.Key]string{}, map[manifest.Key]string(nil), 0
	for _, one := range stale {
		if !one.Protects {
			continue
		}
		now[one.Key] = one.Message
		if before, told := l.told[one.Key]; told && before == one.Message || lines == maxProblemLines {
			continue
		}
		if lines++; uses == nil {
			uses = usesOf(l.reader.store, stale)
		}
		line := l.log.Error().Stringer("object", one.Key).Str("file", one.File)
		if one.Line > 0 {
			line.Int("line", one.Line).Int("column", one.Column)
		}
		line.Str("stage", string(one.Stage)).Msg("NOT APPLIED: " + l.inForce(one, uses[one.Key]))
	}
	l.told = now
}

// inForce says what an edit that is not applied would take away, and is still in force. The parameter use is what it says of
// a Secret or ConfigMap (usesOf).
func (l *editLog) inForce(one store.Stale, use string) string {
	held, single := l.reader.store.Held()[one.Key]
	live := l.reader.store.Served(one.Key)
	switch {
	case single && held.Candidate == nil:
		return "the object is removed, but still in force"
	case live != nil && store.LacksUsers(live):
		return "the users of the policy are not saved, and its targets answer 500"
	case use != "":
		return use
	case removesUsers(live, held.Candidate):
		return removedUsers
	}
	switch one.Key.Kind {
	case api.KindTrafficPolicy:
		return "the requests that this edit refuses still get through"
	case "BackendTLSPolicy":
		return "the backends that this edit no longer trusts are still trusted"
	case api.KindGatewayExtension:
		return "requests are still judged as before this edit"
	case "ReferenceGrant":
		return "the references that this edit forbids still work"
	}
	return "what this edit takes away from the namespace is still allowed"
}

// removesUsers reports whether the users of a policy's basicAuth may be fewer after an edit. The parameter edited is nil if
// the edit cannot be read.
func removesUsers(live, edited *manifest.Object) bool {
	before, ok := manifest.As[*api.TrafficPolicy](live)
	if !ok || before.Spec.BasicAuth == nil || len(before.Spec.BasicAuth.Users) == 0 {
		return false
	}
	after, readable := manifest.As[*api.TrafficPolicy](edited)
	return !readable || after.Spec.BasicAuth != nil && slices.ContainsFunc(before.Spec.BasicAuth.Users, func(user string) bool {
		return !slices.Contains(after.Spec.BasicAuth.Users, user)
	})
}

// applied logs the edits that were held before a run, and are applied since, as they were. It logs at most maxProblemLines.
func (l *editLog) applied(r *run) {
	var done []manifest.Key
	for key, held := range l.held {
		now := l.reader.store.Served(key)
		_, still := l.reader.store.Held()[key]
		if !still && (now == nil && held.Candidate == nil || now != nil && held.Candidate != nil && now.Same(held.Candidate)) {
			done = append(done, key)
		}
	}
	if len(done) == 0 {
		return
	}
	slices.SortFunc(done, manifest.CompareKeys)
	others := slices.DeleteFunc(r.changed(), func(key manifest.Key) bool { return slices.Contains(done, key) })
	for _, key := range done[:min(len(done), maxProblemLines)] {
		line := l.log.Info().Stringer("object", key)
		switch cause := causeOf(l.held[key].Problems, others); {
		case !cause.IsZero():
			line.Msg("an edit that was not applied takes effect now, because " + cause.String() + " changed")
		case r.tree == nil && slices.ContainsFunc(l.held[key].Problems, ofIssuer):
			line.Msg("an edit that was not applied takes effect now, because an OpenID provider answered")
		default:
			line.Msg("an edit that was not applied takes effect now; it is not known which change did it")
		}
	}
}

// causeOf returns the changed object because of which an edit has its problems no more: one that they name, or the only
// one that changed. The result is zero if it is not known.
func causeOf(problems []manifest.Problem, changed []manifest.Key) (cause manifest.Key) {
	for _, key := range changed {
		for _, p := range problems {
			if slices.Contains(store.Words(p.Message), key.Name) && (cause.IsZero() || manifest.CompareKeys(key, cause) < 0) {
				cause = key
			}
		}
	}
	if cause.IsZero() && len(changed) == 1 {
		return changed[0]
	}
	return cause
}
