package engine

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// holdersKey is the key under which the saved state has who has the things that several objects want
// (translate.Holders). No object of a folder has this key.
func holdersKey() manifest.Key {
	return manifest.Key{Group: "gatefold.io", Kind: "Holders", Name: "holders"}
}

// savedHolders returns the entry of the saved state with the holders. It panics if they cannot be encoded.
func savedHolders(holders translate.Holders) store.Saved {
	saved := store.Saved{Key: holdersKey()}
	if len(holders) == 0 {
		return saved
	}
	text, err := json.Marshal(holders)
	if err != nil {
		panic(err)
	}
	saved.Path, saved.Text = "holders", text
	return saved
}

// splitHolders removes the entry with the holders from a saved state, and returns the rest and the holders. If the
// entry cannot be read, there are no holders: then age and name decide who gets a thing.
func splitHolders(all []store.Saved) (objects []store.Saved, holders translate.Holders) {
	at := slices.IndexFunc(all, func(one store.Saved) bool { return one.Key == holdersKey() })
	if at < 0 {
		return all, nil
	}
	if json.Unmarshal(all[at].Text, &holders) != nil {
		holders = nil
	}
	return slices.Delete(slices.Clone(all), at, at+1), holders
}

// textsKey is the key under which the saved state has the hashes of texts that cannot be parsed, and that were there when
// everything else took effect (store.Store.StoodTexts). No object of a folder has this key.
func textsKey() manifest.Key {
	return manifest.Key{Group: "gatefold.io", Kind: "Texts", Name: "texts"}
}

// savedTexts returns the entry of the saved state with such hashes. It panics if they cannot be encoded.
func savedTexts(hashes map[string][][]byte) store.Saved {
	saved := store.Saved{Key: textsKey()}
	if len(hashes) == 0 {
		return saved
	}
	text, err := json.Marshal(hashes)
	if err != nil {
		panic(err)
	}
	saved.Path, saved.Text = "texts", text
	return saved
}

// splitTexts removes the entry with such hashes from a saved state, and returns the rest and the hashes. If the entry
// cannot be read, there are none: then each text that cannot be parsed counts as new.
func splitTexts(all []store.Saved) (objects []store.Saved, hashes map[string][][]byte) {
	at := slices.IndexFunc(all, func(one store.Saved) bool { return one.Key == textsKey() })
	if at < 0 {
		return all, nil
	}
	if json.Unmarshal(all[at].Text, &hashes) != nil {
		hashes = nil
	}
	return slices.Delete(slices.Clone(all), at, at+1), hashes
}

// unsaved returns what a run adds to the saved state: objects, and the holders and texts if they changed.
func (s *state) unsaved(r *run) []store.Saved {
	changes := s.reader.store.Unsaved()
	if hashes, changed := s.reader.store.StoodTexts(); changed {
		changes = append(changes, savedTexts(hashes))
	}
	if !maps.Equal(s.holders, r.result.Holders) {
		s.holders = r.result.Holders
		changes = append(changes, savedHolders(s.holders))
	}
	return changes
}
