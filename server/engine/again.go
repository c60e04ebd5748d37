package engine

import (
	"context"
	"slices"

	"github.com/gatefold/gatefold/server/admin"
)

// again makes gatefold read the folder now, waits until the result is applied, and returns what changed. It also
// retries the objects that gatefold itself failed to translate (see withheld). If allowEmpty is true, an empty folder
// is applied, so that nothing is served; otherwise the last state stays. The method returns an error if ctx or
// gatefold ends first. If only ctx ends, a reload that has begun still takes place.
func (p *pipeline) again(ctx context.Context, allowEmpty bool) (admin.Changes, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.yields.ending, cancel)()
	changes := new(admin.Changes)
	if !p.mu.until(ctx) {
		return admin.Changes{}, ctx.Err()
	}
	p.asked = append(p.asked, changes)
	p.translation.retry()
	if allowEmpty {
		p.reader.store.AllowEmpty()
		p.reader.secrets.allowEmpty()
	}
	p.mu.Unlock()
	err := p.look(ctx)
	if err != nil {
		go p.forgetAsked(changes) // it waits for the run in progress
		return admin.Changes{}, err
	}
	return p.forgetAsked(changes), nil
}

// forgetAsked removes the given changes from p.asked, so that later runs of the pipeline add nothing to these
// changes. It returns what earlier runs added to them. The method p.again calls forgetAsked when it no longer waits.
func (p *pipeline) forgetAsked(changes *admin.Changes) admin.Changes {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = slices.DeleteFunc(p.asked, func(other *admin.Changes) bool { return other == changes })
	return *changes
}

// look makes the watcher read the folder, and returns after the state that the watcher read was applied. If ctx
// ends first, look returns the error of ctx.
func (p *pipeline) look(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case p.rescan <- done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
