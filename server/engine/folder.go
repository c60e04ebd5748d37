package engine

import (
	"context"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// Folder configures which folder is read, and how. Every command reads it in the same way.
type Folder struct {
	Watch  watcher.Options   // the folder of YAML
	Store  store.Options     // what of it is valid
	Routes translate.Options // how routes are made of it; Bind is filled in
	// Like, if not nil, is what takes the place of Routes.
	Like *translate.Surroundings
	// Secrets is the path of a folder of Secrets without YAML (docs/design/inputs.md); "" is none.
	Secrets string

	translators func(translate.Options) translator // nil is translate.New; for tests of its mistakes
}

// Reading is the result of reading a folder from a cold start.
type Reading struct {
	Stats    store.Stats
	Ignored  []store.Ignored
	Result   translate.Result
	Problems []manifest.Problem // with their places, sorted
	// Objects are the valid objects, sorted by key. They have the content of Secrets.
	Objects []*manifest.Object
	// Places finds where fields are written.
	Places func([]manifest.Field) []store.Place
	// Outlines returns what routes refer to, whether they are valid or not.
	Outlines func([]manifest.Key) []store.Outline
	// Labels returns the labels of objects.
	Labels func([]manifest.Key) []map[string]string
}

// Read reads a folder and translates it, once.
func Read(ctx context.Context, folder Folder) (Reading, error) {
	tree, err := watcher.Read(ctx, folder.Watch)
	if err != nil {
		return Reading{}, err
	}
	return ReadTree(ctx, folder, tree)
}

// ReadTree translates a Tree, once.
func ReadTree(ctx context.Context, folder Folder, tree watcher.Tree) (Reading, error) {
	r, err := newReader(ctx, folder)
	if err != nil {
		return Reading{}, err
	}
	change, err := r.apply(ctx, tree, store.Turn{})
	if err != nil {
		return Reading{}, err
	}
	translator := folder.translator()
	if err := translator.Take(ctx, change); err != nil {
		return Reading{}, err
	}
	result := translator.Apply(store.Change{})
	return Reading{
		Stats: change.Stats, Ignored: change.Ignored, Result: result, Problems: r.located(change, result), Objects: change.Set,
		Places: r.store.Places, Outlines: r.store.Outlines, Labels: r.store.Labels,
	}, nil
}

// translator returns a translator of the folder.
func (f Folder) translator() *translate.Translator {
	if f.Like != nil {
		return f.Like.New()
	}
	return translate.New(onAllInterfaces(f.Routes))
}
