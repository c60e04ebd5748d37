package cli

import (
	"maps"
	"runtime/debug"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/memo"
)

// send publishes a result. A panic is returned as an error: the server may have some of the
// result then, and is to be given all there is.
func (p *pipeline) send(result translate.Result) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = newMistake(panicked, debug.Stack())
		}
	}()
	p.publisher.Publish(result)
	return nil
}

// rehearse looks for the objects of a Change that cannot be published, and withholds them: it
// publishes the Change in parts to a server without clients. It returns errLost where there is
// none, and the error of a run that is interrupted. The translator is to be renewed afterwards.
func (p *pipeline) rehearse(change store.Change, cause error) error {
	parts := partsOf(change)
	if len(parts) == 0 || p.rehearsal == nil {
		return errLost
	}
	translators, before := p.translators, maps.Clone(p.withheld.all)
	defer func() { p.translators, p.unsure = translators, true }()
	p.translators = func(options translate.Options) translator {
		return &rehearsed{translator: translators(options), publisher: p.rehearsal()}
	}
	p.translator = p.newTranslator()
	if err := p.isolate(parts, cause); err != nil {
		return err
	}
	if maps.Equal(before, p.withheld.all) {
		return errLost
	}
	return nil
}

// rehearsed is a translator that fails where publishing what it makes fails.
type rehearsed struct {
	translator
	publisher publisher
	usable    bool // it has what the folder had, and nothing of what failed
}

// Take publishes what follows from a Change, too.
func (r *rehearsed) Take(stop memo.Stop, change store.Change) error {
	if err := r.translator.Take(stop, change); err != nil {
		return err
	}
	r.usable = false
	r.publisher.Publish(r.Apply(store.Change{}))
	r.usable = true
	return nil
}

// Revert tells that the search is to begin with a fresh translator and a fresh server, unless
// the Change did not come to be published.
func (r *rehearsed) Revert() bool { return r.usable && r.translator.Revert() }
