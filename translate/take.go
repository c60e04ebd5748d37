package translate

import (
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
)

// former is what a Translator had under a key before a Change that is not done.
type former struct {
	key     manifest.Key
	object  *manifest.Object // nil for none
	invalid *store.Invalid   // nil for none
}

// Take takes in a Change as Apply does, and returns nothing of what it made: the next
// Apply returns it, together with what that one makes. So objects that are only expected can
// be translated before the folder is read, and one Change in several parts.
//
// stop, where it is not nil, interrupts the work: Take returns its error. The Translator is
// then to be given more, which continues the work, or to be reverted.
func (t *Translator) Take(stop memo.Stop, change store.Change) error {
	for _, object := range change.Set {
		t.remember(object.Key)
		t.in.set(object)
	}
	for _, key := range change.Gone {
		t.remember(key)
		t.in.remove(key)
	}
	for _, invalid := range change.Invalid {
		t.remember(invalid.Key)
		t.in.invalid.Set(invalid.Key, invalid)
	}
	err := t.engine.Flush(stop)
	if err == nil {
		t.undo = nil
	}
	return err
}

// Revert takes back the Changes that Take did not come to the end of. The next Take or Apply
// runs what that makes necessary. A Translator that a panic left between two states cannot be
// reverted, and must not be used any more: false.
func (t *Translator) Revert() (usable bool) {
	if t.engine.Torn() {
		return false
	}
	undo := t.undo
	t.undo = nil
	for _, was := range slices.Backward(undo) {
		if t.in.remove(was.key); was.object != nil {
			t.in.set(was.object)
		}
		if was.invalid != nil {
			t.in.invalid.Set(was.key, was.invalid)
		}
	}
	return !t.engine.Torn()
}

// Former returns the object that is served under a key, as it was before the Changes that
// Take did not come to the end of; nil for none.
func (t *Translator) Former(key manifest.Key) *manifest.Object {
	if first := slices.IndexFunc(t.undo, func(was former) bool { return was.key == key }); first >= 0 {
		return t.undo[first].object
	}
	return t.in.object(key)
}

// remember notes what is there under a key, for Revert.
func (t *Translator) remember(key manifest.Key) {
	invalid, _ := t.in.invalid.Peek(key)
	t.undo = append(t.undo, former{key, t.in.object(key), invalid})
}
