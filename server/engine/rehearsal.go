package engine

import (
	"errors"
	"maps"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/memo"
)

// rehearse finds the objects of the last Change that cannot be published, and withholds them. It publishes the
// Change in parts to a server without clients. cause is why the whole could not be published. It returns
// errLost if it finds no object, and the error of an interrupted run. The next Change uses a new translator.
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

// rehearsed is a translator for rehearse: it also publishes each result to a server without clients. So an
// object that cannot be published makes Take panic, like one that cannot be translated.
type rehearsed struct {
	translator
	publisher publisher
	usable    bool // the translator has exactly the objects that the publisher has got
}

// Take translates a Change and publishes the result. It returns the error of the translation.
func (r *rehearsed) Take(stop memo.Stop, change store.Change) error {
	if err := r.translator.Take(stop, change); err != nil {
		return err
	}
	r.usable = false
	r.publisher.Publish(r.Apply(store.Change{}))
	r.usable = true
	return nil
}

// Revert undoes the last Change if it failed before it was published. It returns false if the caller needs a
// new translator and a new server.
func (r *rehearsed) Revert() bool { return r.usable && r.translator.Revert() }
