package engine

import (
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// memory has what the saved state has, until something is published. A translator that gets these objects before those
// of the folder knows who had what, also where nobody else wanted it (docs/design/flow.md#incumbents-are-an-input).
type memory struct {
	objects []*manifest.Object
	absent  []manifest.Key // what the saved state has without its content, sorted
	known   bool           // the translator has got the objects
}

// recollect lets the translator translate the saved state, if there is one, and if nothing else was translated. What the
// state gives to whom then counts as served. Objects that the state has without their content, and those of a folder of
// Secrets, are taken from t.pending. If the translator fails, recollect forgets the saved state, and the caller needs a
// new translator.
func (t *translation) recollect() error {
	if t.memory.known || len(t.memory.objects) == 0 {
		return nil
	}
	change := store.Change{Set: slices.Clone(t.memory.objects)}
	for _, o := range t.pending.Set {
		if t.lacks(o) {
			change.Set = append(change.Set, o)
		}
	}
	err := t.attempt(change)
	switch {
	case err == nil:
		t.translator.Settle()
		t.memory.known = true
	case isMistake(err):
		describeMistake(t.log.Error(), err).Msg("a mistake in gatefold: the saved state cannot be translated as a whole; gatefold goes on without it")
		t.memory = memory{}
	}
	return err
}

// lacks reports whether the saved state has an object without its content, or the object is of the folder of Secrets.
func (t *translation) lacks(o *manifest.Object) bool {
	_, absent := slices.BinarySearchFunc(t.memory.absent, o.Key, manifest.CompareKeys)
	return absent || t.reader.secrets != nil && t.reader.secrets.hides(o)
}
