package engine

import (
	"context"
	"syscall"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/watcher"
)

// Folder says which folder is read, and how. Every command reads it the same way.
type Folder struct {
	Watch  watcher.Options   // the folder of YAML
	Store  store.Options     // what of it is valid
	Routes translate.Options // how routes are made of it; Bind is filled in
	// Secrets is the path of a folder of Secrets without YAML (docs/design/inputs.md); "" is none.
	Secrets string

	translators func(translate.Options) translator // nil is translate.New; for tests of its mistakes
}

// translator is what the engine needs of translate.Translator.
type translator interface {
	Take(stop memo.Stop, change store.Change) error
	Apply(change store.Change) translate.Result
	Quarantine(set translate.Quarantine)
	Revert() (usable bool)
	Former(key manifest.Key) *manifest.Object
}

// Reading is what a folder comes to at a cold start.
type Reading struct {
	Stats    store.Stats
	Ignored  []store.Ignored
	Result   translate.Result
	Problems []manifest.Problem // with their places, sorted
	// Places finds where fields are written.
	Places func([]manifest.Field) []store.Place
	// Outlines reads what routes refer to, valid or not.
	Outlines func([]manifest.Key) []store.Outline
	// Labels returns the labels of objects.
	Labels func([]manifest.Key) []map[string]string
}

// Read takes a folder through store and translate, once.
func Read(ctx context.Context, folder Folder) (Reading, error) {
	tree, err := watcher.Read(ctx, folder.Watch)
	if err != nil {
		return Reading{}, err
	}
	return ReadTree(ctx, folder, tree)
}

// ReadTree takes a Tree through store and translate, once.
func ReadTree(ctx context.Context, folder Folder, tree watcher.Tree) (Reading, error) {
	both, err := newSteps(ctx, folder)
	if err != nil {
		return Reading{}, err
	}
	change, err := both.apply(ctx, tree)
	if err != nil {
		return Reading{}, err
	}
	if err := both.translator.Take(ctx, change); err != nil {
		return Reading{}, err
	}
	result := both.translator.Apply(store.Change{})
	return Reading{
		Stats: change.Stats, Ignored: change.Ignored, Result: result, Problems: both.located(change, result),
		Places: both.store.Places, Outlines: both.store.Outlines, Labels: both.store.Labels,
	}, nil
}

// steps are the two steps between a Tree and what is served.
type steps struct {
	folder     Folder
	store      *store.Store
	secrets    *secretDir
	translator translator
	standing
}

func newSteps(ctx context.Context, folder Folder) (*steps, error) {
	if folder.translators == nil {
		folder.translators = func(options translate.Options) translator { return translate.New(options) }
	}
	both := &steps{folder: folder}
	var err error
	if both.store, err = both.newStore(); err != nil {
		return nil, err
	}
	if both.secrets, err = openSecrets(ctx, folder.Secrets, folder.Watch.Limits); err != nil {
		return nil, err
	}
	both.translator = both.newTranslator()
	return both, nil
}

func (s *steps) newStore() (*store.Store, error) { return store.New(s.folder.Store) }

// newTranslator makes a Translator for the Envoys of this machine. A Gateway
// without addresses listens on all interfaces, of both families where IPv6 is
// there: an address that cannot be bound would cost the whole listener.
func (s *steps) newTranslator() translator {
	options := s.folder.Routes
	options.Bind = []string{"0.0.0.0"}
	if socket, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM, 0); err == nil {
		_ = syscall.Close(socket) // it was opened to see whether it can be
		options.Bind = append(options.Bind, "::")
	}
	return s.folder.translators(options)
}

// apply takes a Tree of the folder, and the Secrets beside it. When ctx ends first, it
// returns its error, and nothing is taken.
func (s *steps) apply(ctx context.Context, tree watcher.Tree) (store.Change, error) {
	change, err := s.store.ApplyUntil(ctx, tree)
	if err != nil {
		return change, err
	}
	change.Problems = prefixed(change.Problems, s.folder.Store.PathPrefix, tree.Root)
	return s.secrets.join(change), nil
}

// all is the Change that brings a fresh Translator to what apply has told of so far.
func (s *steps) all() store.Change { return s.secrets.overlay(s.store.Told()) }
