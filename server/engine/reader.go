package engine

import (
	"context"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// reader makes a Change from each Tree of the folder of YAML. It adds the Secrets of the folder of Secrets, if
// there is one.
type reader struct {
	folder  Folder
	store   *store.Store
	secrets *secretDir
	standing
}

// newReader returns a reader that has read the folder of Secrets, if there is one, but no YAML yet. It returns an
// error if the folder of Secrets cannot be read, or if the embedded schemas are invalid.
func newReader(ctx context.Context, folder Folder) (r *reader, err error) {
	r = &reader{folder: folder}
	if r.store, err = store.New(folder.Store); err != nil {
		return nil, err
	}
	if r.secrets, err = openSecrets(ctx, folder.Secrets, folder.Watch.Limits); err != nil {
		return nil, err
	}
	return r, nil
}

// apply applies a Tree of the folder of YAML, and the last Tree of the folder of Secrets. If ctx ends first,
// apply applies nothing and returns the error of ctx. If the function newer returns true meanwhile, files may wait for the
// next call (Change.Waiting), or apply applies nothing and returns store.ErrNewer.
func (r *reader) apply(ctx context.Context, tree watcher.Tree, newer func() bool) (store.Change, error) {
	change, err := r.store.ApplyUntil(ctx, tree, newer)
	if err != nil {
		return change, err
	}
	change.Problems = prefixed(change.Problems, r.folder.Store.PathPrefix, tree.Root)
	return r.secrets.join(change), nil
}

// freeze freezes namespaces (store.Store.Freeze), and returns what this changes. The parameter root is the path of the
// folder.
func (r *reader) freeze(frozen store.Frozen, root string) store.Change {
	change := r.store.Freeze(frozen)
	change.Problems = prefixed(change.Problems, r.folder.Store.PathPrefix, root)
	return r.secrets.join(change)
}

// errorsOfFiles returns the errors about texts of the folder (store.Store.Errors). The parameter root is the path of the
// folder.
func (r *reader) errorsOfFiles(root string) []manifest.Problem {
	return prefixed(r.store.Errors(), r.folder.Store.PathPrefix, root)
}

// all returns a Change with everything that apply has returned so far, for a new translator.
func (r *reader) all() store.Change { return r.secrets.overlay(r.store.Delivered()) }
