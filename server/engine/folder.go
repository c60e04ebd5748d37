package engine

import (
	"context"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// Folder says which folder is read, and how. Every command reads a folder in the same way.
type Folder struct {
	Watch  watcher.Options   // the folder of YAML
	Store  store.Options     // how files are validated
	Routes translate.Options // how objects are translated; the engine sets Bind
	// Like, if not nil, is used instead of Routes. It has the options of another gatefold process, and the other
	// inputs of that process that are not objects. The folder is then translated as that process would do it.
	Like *translate.Surroundings
	// Secrets is the path of a folder in which Secrets are plain files, such as NAMESPACE/NAME/tls.crt, and not YAML
	// (docs/design/inputs.md). It is "" if there is no such folder.
	Secrets string
	// Foresee adds to the problems those that appear when missing certificates, or a GatewayClass of gatefold, come.
	Foresee bool

	translators func(translate.Options) translator // makes the translator; nil means translate.New. For tests.
}

// Reading is the result of reading and translating a folder once.
type Reading struct {
	Stats    store.Stats
	Ignored  []store.Ignored
	Result   translate.Result
	Problems []manifest.Problem // with their places, sorted
	// Objects are the valid objects, sorted by key. Secrets are included with their content.
	Objects []*manifest.Object
	// Places returns where fields are written.
	Places func([]manifest.Field) []store.Place
	// Outlines returns a summary of each route (store.Outline), whether the route is valid or not.
	Outlines func([]manifest.Key) []store.Outline
	// Labels returns the labels of objects.
	Labels func([]manifest.Key) []map[string]string
}

// Read reads a folder and translates it, once. It returns an error if the folder or its Secrets cannot be read,
// or if ctx ends.
func Read(ctx context.Context, folder Folder) (Reading, error) {
	tree, err := watcher.Read(ctx, folder.Watch)
	if err != nil {
		return Reading{}, err
	}
	return ReadTree(ctx, folder, tree)
}

// ReadTree translates a Tree, once. It returns an error if ctx ends or the Secrets cannot be read.
func ReadTree(ctx context.Context, folder Folder, tree watcher.Tree) (Reading, error) {
	r, err := newReader(ctx, folder)
	if err != nil {
		return Reading{}, err
	}
	change, err := r.apply(ctx, tree, never)
	if err != nil {
		return Reading{}, err
	}
	translator := folder.translator()
	if err := translator.Take(ctx, change); err != nil {
		return Reading{}, err
	}
	result := translator.Apply(store.Change{})
	problems := r.located(change, result)
	if folder.Foresee {
		foreseen, err := foresee(ctx, folder, change, result)
		if err != nil {
			return Reading{}, err
		}
		problems = slices.Concat(problems, prefixed(r.store.Locate(foreseen), folder.Store.PathPrefix, ""))
		manifest.SortProblems(problems)
	}
	return Reading{
		Stats: change.Stats, Ignored: change.Ignored, Result: result, Problems: problems, Objects: change.Set,
		Places: r.store.Places, Outlines: r.store.Outlines, Labels: r.store.Labels,
	}, nil
}

// translator returns a new translator with the settings of the folder.
func (f Folder) translator() *translate.Translator {
	if f.Like != nil {
		return f.Like.New()
	}
	return translate.New(onAllInterfaces(f.Routes))
}
