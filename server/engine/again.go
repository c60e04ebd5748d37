package engine

import (
	"context"
	"slices"

	"github.com/gatefold/gatefold/server/admin"
)

// again makes gatefold read the folder now, waits until that run has ended, and returns what changed. It also
// tries withheld objects again (see withheld). If allowEmpty is true, an empty folder is applied; otherwise it
// is frozen. If ctx or gatefold ends first, again returns an error. A reload that has begun still takes place
// if only ctx ends.
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

// forgetAsked returns the changes that a call of again has collected so far. Later runs add nothing to them.
func (p *pipeline) forgetAsked(changes *admin.Changes) admin.Changes {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = slices.DeleteFunc(p.asked, func(other *admin.Changes) bool { return other == changes })
	return *changes
}

// look makes the watcher read the folder, and returns after the run with that state has ended. If ctx ends
// first, it returns the error of ctx.
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
