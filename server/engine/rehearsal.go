package engine

import (
	"errors"
	"maps"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/memo"
)

// rehearse finds the objects of the last Change that make the server panic. Instead of each such object, it applies
// a replacement, for example the last valid version (see isolation.withhold). To find the objects, rehearse
// publishes parts of the Change to a server without clients. The parameter cause is the panic for the whole Change.
//
// If rehearse finds no such object, it returns errLost. Any other error means that the search was interrupted. In
// all cases, with or without an error, the next call of apply makes a new translator (phase ahead).
func (t *translation) rehearse(cause error) error {
	t.reportMistake("publish", cause, t.sent)
	translators, before := t.translators, maps.Clone(t.withheld.all)
	defer func() { t.translators, t.phase = translators, ahead }()
	t.translators = func(options translate.Options) translator {
		return &rehearsed{translator: translators(options), publisher: t.rehearsal()}
	}
	err := errLost
	if parts := partsOf(t.sent); len(parts) > 0 {
		t.translator = t.translators(t.options)
		err = t.isolate(parts, cause)
	}
	if err == nil && maps.Equal(before, t.withheld.all) {
		err = errLost
	}
	if errors.Is(err, errLost) {
		t.log.Error().Str("step", "publish").Msg("ALARM: no object is found that is the cause: this change of the folder is not served, what served before is; the next edit is tried afresh")
	}
	return err
}

// rehearsed is a translator that also publishes each result to a server without clients. So Take panics if an
// object cannot be published, in the same way as if an object cannot be translated. Only rehearse uses it.
type rehearsed struct {
	translator
	publisher publisher
	usable    bool // the translator has exactly the objects that the publisher has got
}

// Take translates a Change, and publishes the result to a server without clients. The error is that of the
// translation.
func (r *rehearsed) Take(stop memo.Stop, change store.Change) error {
	if err := r.translator.Take(stop, change); err != nil {
		return err
	}
	r.usable = false
	r.publisher.Publish(r.Apply(store.Change{}))
	r.usable = true
	return nil
}

// Revert undoes the last Change if its translation failed. It returns false if that is not possible, for example
// because publishing the result failed. Then the caller needs a new translator and a new server.
func (r *rehearsed) Revert() bool { return r.usable && r.translator.Revert() }
