package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/plan"
	"github.com/gatefold/gatefold/translate/xds"
	"github.com/gatefold/gatefold/watcher"
)

// ReadSides translates two Trees, to compare them. Each side is what gatefold would serve if it started with
// that Tree. If the Trees share most files, the cost is little more than for one. It returns an error if ctx
// ends or the Secrets cannot be read.
func ReadSides(ctx context.Context, folder Folder, trees [2]watcher.Tree) (sides [2]plan.Side, err error) {
	r := &sideReader{ctx: ctx, trees: trees, objects: map[manifest.Key]*manifest.Object{}, resources: map[resourceKey]plan.Resource{}}
	shared := folder
	shared.Store.KeepNothing = true
	if r.reader, err = newReader(ctx, shared); err != nil {
		return sides, err
	}
	r.translator = folder.translator()
	for side, tree := range trees {
		apart := len(tree.Skipped) > 0 // the Store would keep the last version of such a file
		if !apart {
			if sides[side], apart, err = r.read(side); err != nil {
				return sides, err
			}
		}
		if apart {
			if sides[side], err = ReadSide(ctx, folder, tree); err != nil {
				return sides, err
			}
		}
	}
	return sides, nil
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

// sideReader reads two Trees one after the other, with a Store that keeps no last valid versions.
type sideReader struct {
	ctx        context.Context //nolint:containedctx // of ReadSides
	reader     *reader
	translator *translate.Translator
	trees      [2]watcher.Tree
	objects    map[manifest.Key]*manifest.Object
	resources  map[resourceKey]plan.Resource
}

// resourceKey identifies an Envoy resource of a Gateway.
type resourceKey struct{ gateway, typ, name string }

// read passes the Tree of a side through store and translate. apart is true if the Tree must be read alone: the Store
// did not apply it, or the translator would remember the headers of a GatewayExtension that it does not have. The error
// is that of the store, the translator or ctx.
func (r *sideReader) read(side int) (out plan.Side, apart bool, err error) {
	change, err := r.reader.apply(r.ctx, r.trees[side], store.Turn{})
	if err != nil || change.Hold != "" {
		return out, change.Hold != "", err
	}
	if slices.ContainsFunc(change.Gone, func(key manifest.Key) bool { return key.Kind == api.KindGatewayExtension }) {
		return out, true, nil
	}
	if err := r.translator.Take(r.ctx, change); err != nil {
		return out, false, err
	}
	result := r.translator.Apply(store.Change{})
	r.add(change, result.Delta)
	return plan.Side{
		View: result.View(), Problems: slices.Clone(r.reader.located(change, result)), Objects: slices.Collect(maps.Values(r.objects)),
		Resources: slices.Collect(maps.Values(r.resources)), Places: r.reader.store.PlacesNow(),
	}, false, nil
}

// add updates r.objects and r.resources to those of the Tree that is being read. The parameters change and
// updates have the differences between this Tree and the Tree that was read before.
func (r *sideReader) add(change store.Change, updates []xds.Update) {
	for _, key := range change.Gone {
		delete(r.objects, key)
	}
	for _, object := range change.Set {
		r.objects[object.Key] = object
	}
	for _, u := range updates {
		key := resourceKey{u.Gateway, u.Type, u.Name}
		if u.Resource == nil {
			delete(r.resources, key)
		} else {
			r.resources[key] = plan.ResourceOf(u.Gateway, u.Resource)
		}
	}
}
