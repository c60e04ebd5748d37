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
	// told has the statuses of the held edits, from their last trial.
	told map[manifest.Key]*status.Update
	// closed are the new routes that wait for others, as published: for whom they wait.
	closed map[manifest.Key]string
	// elsewhere has the namespaces that the texts of held edits refer to.
	elsewhere map[manifest.Key][]string
	// texts has, for each edit that waits for a text that cannot be parsed, the place of this text.
	texts map[manifest.Key]string
	// asks are the held edits that wait for the answer of an OpenID provider. issuers has these providers, and maybe others.
	asks    map[manifest.Key]bool
	issuers []string
	// fresh are the objects whose status changes in this run, because their edits are judged.
	fresh map[manifest.Key]bool
}

func newVersions() versions {
	return versions{
		told: map[manifest.Key]*status.Update{}, fresh: map[manifest.Key]bool{}, elsewhere: map[manifest.Key][]string{},
		texts: map[manifest.Key]string{}, asks: map[manifest.Key]bool{},
	}
}

// published records what is served: the problems of its translation, the new routes that are closed, and which texts that
// cannot be parsed hold nothing.
func (v *versions) published(problems []manifest.Problem, closed map[manifest.Key]*withheld, folder *store.Store) {
	v.errors, v.closed = problems, map[manifest.Key]string{}
	for key, w := range closed {
		v.closed[key] = w.waits
	}
	holding, held := map[string]bool{}, folder.Held()
	for key, place := range v.texts {
		if _, still := held[key]; still || closed[key] != nil {
			holding[place] = true
		} else {
			delete(v.texts, key)
		}
	}
	folder.TextsStand(holding)
	maps.DeleteFunc(v.elsewhere, func(key manifest.Key, _ []string) bool { _, still := held[key]; return !still && closed[key] == nil })
	maps.DeleteFunc(v.asks, func(key manifest.Key, _ bool) bool { _, still := held[key]; return !still })
	if len(v.asks) == 0 {
		v.issuers = nil
	}
}

// restate corrects the statuses of a Result: a held edit has that of its last trial. The Result also has the OpenID
// providers that held edits wait for.
func (v *versions) restate(result *translate.Result, of translator) {
	if len(v.issuers) > 0 {
		result.Issuers = slices.Compact(slices.Sorted(slices.Values(slices.Concat(result.Issuers, v.issuers))))
	}
	for i, u := range result.Status {
		if told := v.told[u.Key]; told != nil {
			result.Status[i] = *told
		}
		delete(v.fresh, u.Key)
	}
	for key := range v.fresh {
		now := v.told[key]
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
