package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/plan"
	"github.com/gatefold/gatefold/watcher"
)

// ReadSides returns what a gatefold serves that starts with the first Tree, and what it serves once it has got the second
// Tree. It passes both through the pipeline of Serve, without a server: so the second side has the live versions of objects
// whose edits are held. It returns an error if ctx ends or the Secrets cannot be read.
func ReadSides(ctx context.Context, folder Folder, trees [2]watcher.Tree) (sides [2]plan.Side, err error) {
	reader, err := newReader(ctx, folder)
	if err != nil {
		return sides, err
	}
	p := newPipeline(ctx, reader, zerolog.Nop())
	to, foreseen := &sideRecorder{view: &ir.View{}, resources: map[resourceKey]plan.Resource{}}, &foresight{}
	p.server, p.gate = to, newGate(reader, false, true)
	p.gate.foresight = foreseen
	for side, tree := range trees {
		*foreseen = foresight{}
		if sides[side], err = p.readSide(tree, to); err != nil {
			return sides, err
		}
	}
	sides[1].Judged.Brought, sides[1].Judged.Strict = foreseen.brought, foreseen.strict
	return sides, nil
}

// readSide passes a Tree through the pipeline, and returns what is served then. The parameter to is the pipeline's server.
func (p *pipeline) readSide(tree watcher.Tree, to *sideRecorder) (side plan.Side, err error) {
	p.tree = &tree
	r := &run{tree: &tree, first: !p.published, busy: p.busy, reload: server.Reload{Stages: map[string]time.Duration{}}}
	if err := p.flow(r); err != nil && !errors.Is(err, errWaiting) {
		return side, err
	}
	return plan.Side{
		View: to.view, Problems: slices.Clone(r.problems), Objects: p.translation.withheld.filter(p.reader.all()).Set,
		Resources: slices.Collect(maps.Values(to.resources)), Places: p.reader.store.PlacesNow(),
		Judged: &plan.Judged{Held: p.heldEdits(r)},
	}, nil
}

// sideRecorder is the server of a pipeline that serves nobody: it has all that was published.
type sideRecorder struct {
	view      *ir.View
	resources map[resourceKey]plan.Resource
}

// resourceKey identifies an Envoy resource of a Gateway.
type resourceKey struct{ gateway, typ, name string }

// Publish implements publisher.
func (s *sideRecorder) Publish(result translate.Result) {
	s.view = result.View()
	for _, u := range result.Delta {
		key := resourceKey{u.Gateway, u.Type, u.Name}
		if u.Resource == nil {
			delete(s.resources, key)
		} else {
			s.resources[key] = plan.ResourceOf(u.Gateway, u.Resource)
		}
	}
}

// ReadSide translates one Tree, as if gatefold started with it. It returns an error if ctx ends or the Secrets
// cannot be read.
func ReadSide(ctx context.Context, folder Folder, tree watcher.Tree) (side plan.Side, err error) {
	read, err := ReadTree(ctx, folder, tree)
	if err != nil {
		return side, err
	}
	return plan.Side{
		View: read.Result.View(), Problems: read.Problems, Objects: read.Objects, Resources: plan.ResourcesOf(read.Result.Delta), Places: read.Places,
	}, nil
}
