package engine

import (
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/status"
)

// versions has what the pipeline must know, to judge edits: an edit of an object that serves takes effect when the object
// has no error that it did not have before. Until then, the version before it is served. The Store knows which edits are
// held (store.Store.Held).
type versions struct {
	// errors are the problems of the translation that is served.
	errors []manifest.Problem
	// closed are the new routes that wait for others, as published: for whom they wait.
	closed map[manifest.Key]string
	// closing are those of the revision that was judged last.
	closing map[manifest.Key]string
	// trials has what the last trial found of each edit that is held, and of each route in closed.
	trials map[manifest.Key]trialOfEdit
	// namespaces are those of the edits in trials, and those that their texts refer to. texts is true if one of them waits
	// for a text that cannot be parsed, and asks if one waits for the answer of an OpenID provider.
	namespaces  map[string]bool
	texts, asks bool
	// users has those of all trials.
	users map[manifest.Key]*status.Update
	// issuers has the OpenID providers that held edits wait for, and maybe others.
	issuers []string
	// fresh are the objects whose status changes in this run, because their edits are judged.
	fresh map[manifest.Key]bool
}

// trialOfEdit is what the trial of an edit found, which is not applied.
type trialOfEdit struct {
	status    *status.Update // of the object; nil if it has none, or if the object is a closed route
	elsewhere []string       // the namespaces that its text refers to
	texts     []string       // the places of the texts that cannot be parsed, for which it waits
	asks      bool           // it waits for the answer of an OpenID provider
	// users are the policies that have an error because of the edited content of a Secret or ConfigMap, with their statuses.
	users map[manifest.Key]*status.Update
}

func newVersions() versions {
	return versions{trials: map[manifest.Key]trialOfEdit{}, fresh: map[manifest.Key]bool{}}
}

// waiting returns for whom closed routes wait.
func waiting(closed map[manifest.Key]*withheld) map[manifest.Key]string {
	all := map[manifest.Key]string{}
	for key, w := range closed {
		all[key] = w.waits
	}
	return all
}

// settle forgets the trials of all edits but those that are held, and of the routes that are closed.
func (v *versions) settle(held map[manifest.Key]store.Held, closed map[manifest.Key]*withheld) {
	v.closing = waiting(closed)
	v.namespaces, v.texts, v.asks, v.users = map[string]bool{}, false, false, map[manifest.Key]*status.Update{}
	for key, trial := range v.trials {
		_, isHeld := held[key]
		switch {
		case isHeld:
		case closed[key] != nil: // its status is that of the closed copy
			trial.status = nil
			v.trials[key] = trial
		default:
			delete(v.trials, key)
			continue
		}
		v.texts, v.asks = v.texts || len(trial.texts) > 0, v.asks || trial.asks
		v.namespaces[key.Namespace] = true
		maps.Copy(v.users, trial.users)
		for _, namespace := range trial.elsewhere {
			v.namespaces[namespace] = true
		}
	}
	if !v.asks {
		v.issuers = nil
	}
}

// refresh makes the next Result have the statuses that a trial of an edit is about.
func (v *versions) refresh(key manifest.Key, of trialOfEdit) {
	v.fresh[key] = true
	for user := range of.users {
		v.fresh[user] = true
	}
}

// statusOf returns the status of an object by the last trial of an edit, nil if there is none.
func (v *versions) statusOf(key manifest.Key) *status.Update {
	if last := v.trials[key].status; last != nil {
		return last
	}
	return v.users[key]
}

// idle reports whether a run matters to no held edit and no closed route. The parameter held is the number of edits that
// are held. If there are more trials than such edits and routes, one of them was edited once more, and its trial must go.
func (v *versions) idle(s scope, held int) bool {
	if s.wide || v.texts || s.asked && v.asks || len(v.trials) != held+len(v.closed) {
		return false
	}
	for namespace := range s.namespaces {
		if v.namespaces[namespace] {
			return false
		}
	}
	return true
}

// published records what is served: the problems of its translation, the new routes that are closed, and which texts that
// cannot be parsed hold nothing.
func (v *versions) published(problems []manifest.Problem, closed map[manifest.Key]*withheld, folder *store.Store) {
	v.errors, v.closed = problems, waiting(closed)
	holding := map[string]bool{}
	if v.texts {
		for _, trial := range v.trials {
			for _, text := range trial.texts {
				holding[text] = true
			}
		}
	}
	folder.TextsStand(holding)
}

// restate corrects the statuses of a Result: a held edit has that of its last trial. The Result also has the OpenID
// providers that held edits wait for.
func (v *versions) restate(result *translate.Result, of translator) {
	if len(v.issuers) > 0 {
		result.Issuers = slices.Compact(slices.Sorted(slices.Values(slices.Concat(result.Issuers, v.issuers))))
	}
	for i, u := range result.Status {
		if last := v.statusOf(u.Key); last != nil {
			result.Status[i] = *last
		}
		delete(v.fresh, u.Key)
	}
	for key := range v.fresh {
		now := v.statusOf(key)
		if now == nil {
			now = of.Status(key)
		}
		if now == nil {
			now = &status.Update{Key: key}
		}
		result.Status = append(result.Status, *now)
	}
	clear(v.fresh)
	slices.SortFunc(result.Status, func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
}
