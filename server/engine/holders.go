package engine

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// holdersKey is the key under which the saved state has who has the things that several objects want
// (translate.Holders). No object of a folder has this key.
func holdersKey() manifest.Key {
	return manifest.Key{Group: "gatefold.io", Kind: "Holders", Name: "holders"}
}

// textsKey is the key under which the saved state has the hashes of texts that cannot be parsed, and that were there when
// everything else took effect (store.Store.StoodTexts). No object of a folder has this key.
func textsKey() manifest.Key {
	return manifest.Key{Group: "gatefold.io", Kind: "Texts", Name: "texts"}
}

// savedMap returns the entry of the saved state with a map, as JSON. It panics if the map cannot be encoded.
func savedMap[M ~map[K]V, K comparable, V any](key manifest.Key, values M) store.Saved {
	saved := store.Saved{Key: key}
	if len(values) == 0 {
		return saved
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	saved.Path, saved.Text = key.Name, text
	return saved
}

// splitMap removes the entry with a map from a saved state, and returns the rest and the map. If the entry cannot be read,
// the map is nil: then age and name decide who gets a thing, and each text that cannot be parsed counts as new.
func splitMap[M ~map[K]V, K comparable, V any](all []store.Saved, key manifest.Key) (objects []store.Saved, values M) {
	at := slices.IndexFunc(all, func(one store.Saved) bool { return one.Key == key })
	if at < 0 {
		return all, nil
	}
	if json.Unmarshal(all[at].Text, &values) != nil {
		values = nil
	}
	return slices.Delete(slices.Clone(all), at, at+1), values
}

// unsaved returns what a run adds to the saved state: objects, and the holders and texts if they changed.
func (s *state) unsaved(r *run) []store.Saved {
	changes := s.reader.store.Unsaved()
	if s.reader.store.StoodTextsChanged() {
		changes = append(changes, savedMap(textsKey(), s.reader.store.StoodTexts()))
	}
	if !maps.Equal(s.holders, r.result.Holders) {
		s.holders = r.result.Holders
		changes = append(changes, savedMap(holdersKey(), s.holders))
	}
	return changes
}
