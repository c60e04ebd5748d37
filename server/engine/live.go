package engine

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// Live reads a folder repeatedly, for an editor. For each Tree (the files at one moment) it returns the problems
// that gatefold would report if it started with that Tree. Usually the time that this takes depends only on what
// changed since the Tree before. Only one goroutine may use a Live.
type Live struct {
	folder     Folder
	reader     *reader // nil before the first Read and after a failed Read
	translator *translate.Translator
	objects    map[manifest.Key]*manifest.Object
	skipped    []watcher.Skip // the skipped files of the last Tree
}

// NewLive returns a Live that has not read anything.
func NewLive(folder Folder) *Live {
	folder.Store.KeepNothing = true
	return &Live{folder: folder}
}

// Read passes a Tree (the files of the folder at one moment) through store and translate. It returns the problems
// with their places, sorted; the caller must not change them. After an error or a panic, or if the store did not
// apply the Tree, the next Read starts from nothing. The error is that of the store, the translator or ctx.
func (l *Live) Read(ctx context.Context, tree watcher.Tree) (problems []manifest.Problem, err error) {
	done := false
	defer func() {
		if !done {
			l.reader = nil
		}
	}()
	// The Store would keep the last version of an unreadable file, but a cold start has none.
	if !slices.Equal(tree.Skipped, l.skipped) {
		l.reader, l.skipped = nil, tree.Skipped
	}
	began := l.reader != nil
	problems, frozen, err := l.read(ctx, tree)
	if err == nil && frozen && began { // the result must not depend on what was read before
		l.reader = nil
		problems, frozen, err = l.read(ctx, tree)
	}
	done = err == nil && !frozen
	return problems, err
}

// read does the same as Read, but does not try a second time. The result frozen is true if the store did not
// apply the Tree. The error is that of the store, the translator or ctx.
func (l *Live) read(ctx context.Context, tree watcher.Tree) (problems []manifest.Problem, frozen bool, err error) {
	if l.reader == nil {
		if l.reader, err = newReader(ctx, l.folder); err != nil {
			return nil, false, err
		}
		l.translator, l.objects = translate.New(onAllInterfaces(l.folder.Routes)), map[manifest.Key]*manifest.Object{}
	}
	change, err := l.reader.apply(ctx, tree, never)
	if err != nil {
		return nil, false, err
	}
	if err := l.translator.Take(ctx, change); err != nil {
		return nil, false, err
	}
	for _, key := range change.Gone {
		delete(l.objects, key)
	}
	for _, object := range change.Set {
		l.objects[object.Key] = object
	}
	return l.reader.located(change, l.translator.Apply(store.Change{})), change.Hold != "", nil
}

// Object returns a valid object of the last Tree, nil if there is none.
func (l *Live) Object(key manifest.Key) *manifest.Object { return l.objects[key] }

// Objects returns the valid objects of the last Tree, in no order.
func (l *Live) Objects() iter.Seq[*manifest.Object] { return maps.Values(l.objects) }

// Place returns where a field of the last Tree is written (store.Store.Places). It is zero before the first
// Read.
func (l *Live) Place(field manifest.Field) store.Place {
	if l.reader == nil {
		return store.Place{}
	}
	return l.reader.store.Places([]manifest.Field{field})[0]
}
