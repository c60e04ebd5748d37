package engine

import (
	"errors"
	"maps"
	"runtime/debug"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/memo"
)

// publish serves what follows from the Change. A mistake that publishing makes costs the object
// that causes it; where that is not found, what served is served, and the next Tree is tried
// with a fresh translator.
func (p *pipeline) publish(r *reload) {
	stored := r.change.Stale
	if !p.prepare(r, stored) {
		return
	}
	var err error
	if r.time("publish", func() { err = p.send(r.result) }); err != nil {
		p.reportMistake("publish", err, p.sent)
		if r.ended = p.rehearse(p.sent, err); errors.Is(r.ended, errLost) {
			p.log.Error().Str("step", "publish").Msg("ALARM: no object is found that is the cause: this change of the folder is not served, what served before is; the next edit is tried afresh")
		}
		if r.ended != nil || !p.prepare(r, stored) {
			return
		}
		r.time("publish", func() { p.publisher.Publish(r.result) })
	}
	p.ledger.published(r.result)
	p.store.Applied(p.withheld.formers())
	p.published, p.unsure, p.renewed, p.trusted, p.beginAnew = true, false, false, p.refused, nil
	if p.save != nil {
		p.save()
	}
}

// prepare makes the result that is to be published, false where there is none. stored are the
// stale objects of the store.
func (p *pipeline) prepare(r *reload, stored []store.Stale) bool {
	if r.time("translate", func() { r.result, r.ended = p.translate(r.change) }); r.ended != nil {
		return false
	}
	r.change.Stale = p.withheld.report(&r.result, stored, p.store)
	r.time("locate", func() { r.problems = p.located(r.change, r.result) })
	if p.waiting(r) {
		p.unsure, p.renewed = false, false // there was nothing in it
		return false
	}
	r.result.Problems, r.result.Stale = r.problems, r.change.Stale
	return true
}

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
	translators, before := p.folder.translators, maps.Clone(p.withheld.all)
	defer func() { p.folder.translators, p.unsure = translators, true }()
	p.folder.translators = func(options translate.Options) translator {
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
